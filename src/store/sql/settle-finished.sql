-- Settle of successes whose work was an intent: as settle-done.sql, and the intents of those that were held go, too.
-- $1 holder · $2 jobs, or the one job of all · $3 keys, the ids of the intents · $4 takes, arrays as text
-- Returns one row: `takes`, those that were held. Index: ledger_pkey, one probe per key in key order (M30), and intents_pkey.
-- `is not distinct from` and not `=`: never by ledger_taken, whose entries are mostly of claims that are over.
with held as materialized (
  select h.place from (
    select coalesce(x.job, (select ($2::text::text[])[1])) as job, x.key, x.take
    from unnest($2::text::text[], $3::text::text[], $4::text::int8[]) as x(job, key, take)
    order by key collate "C", job
  ) i
  cross join lateral (
    select l.ctid as place from regrow.ledger l
    where l.key = i.key and l.job = i.job and l.holder is not distinct from $1::text and l.take = i.take
    for update
  ) h
),
done as (
  delete from regrow.ledger l where l.ctid = any (array(select place from held)) returning l.take, l.key
),
finished as (
  delete from regrow.intents n where n.id = any (array(select key::uuid from done))
)
select string_agg(take::text, ',') as takes from done
