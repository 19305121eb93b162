-- Settle of successes in a handler's transaction: all of them, or an error (S4). As settle-done.sql, and like settle-one.sql it
-- lets the COMMIT follow at once.
-- $1 holder · $2 jobs, or the one job of all · $3 keys · $4 takes, arrays as text · $5 how many they are · $6 true: keys are the
--   ids of intents, which go, too
-- Index: ledger_pkey, one probe per key in key order (M30), and intents_pkey; locked rows are deleted by where they stand.
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
  delete from regrow.ledger l where l.ctid = any (array(select place from held)) returning l.key
),
finished as (
  delete from regrow.intents n where n.id = any (array(select case when $6::boolean then key::uuid end from done))
)
select case when count(*) = $5::int then 1 else ('lease lost: ' || count(*))::int end as held from done
