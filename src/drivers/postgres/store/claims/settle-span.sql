-- Settle of successes whose takes follow each other closely, as they do while a worker is busy: as settle-done.sql (S3), with one walk
-- along an index instead of a probe per key. A take says which key it is of.
-- $1 holder · $2 takes, an array as text; null: all from $3 to $4 · $3 the lowest of them · $4 the highest · $5 true: keys are the
--   ids of intents, which go, too · $6 how many takes there are · $7 true: keys come in the order of their takes
-- Returns one row: `takes`, those that were held; null: all of them. Index: ledger_taken from $3 to $4, hence the bound on how far apart they are:
-- a long transaction keeps the entries of claims that are over. Then intents_pkey.
-- Rows are locked in key order (M30, see lock-order.ts). If keys come in the order of their takes, and the session lets the planner do
-- nothing but walk, the walk itself does that. Else they are locked first, at a price; by another collation of the same order, or it would
-- be had by a walk along ledger_pkey.
with held as materialized (
  select 1 from regrow.ledger l
  where (not $7::boolean or current_setting('enable_indexscan') <> 'on'
      or current_setting('enable_bitmapscan') <> 'off' or current_setting('enable_seqscan') <> 'off')
    and l.holder = $1::text and l.take >= $3::int8 and l.take <= $4::int8
    and ($2::text is null or (l.take in (select unnest($2::text::int8[]))) is true)
  order by l.key collate "POSIX", l.job
  for update
),
done as (
  delete from regrow.ledger l
  where (select count(*) from held) >= 0
    and l.holder = $1::text and l.take >= $3::int8 and l.take <= $4::int8
    and ($2::text is null or (l.take in (select unnest($2::text::int8[]))) is true)
  returning l.take, l.key
),
finished as (
  delete from regrow.intents n where n.id = any (array(select case when $5::boolean then key::uuid end from done))
)
select case when count(*) < $6::int then (select coalesce(string_agg(take::text, ','), '') from done) end as takes from done
