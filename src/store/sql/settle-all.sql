-- Settle of successes in a handler's transaction: all of them, or an error (S4). As settle-done.sql, and like settle-one.sql it
-- lets the COMMIT follow at once.
-- $1 holder · $2 json [{ job, key, take }] · $3 how many they are. Index: ledger_pkey, one probe per key in key order (M30).
-- `is not distinct from` and not `=`: never by ledger_taken, whose entries are mostly of claims that are over.
-- `any (array(...))` beside the join: planned for an empty table, a join alone would walk the whole index, dead rows and all.
with input as materialized (
  select job, key, take from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
),
held as materialized (
  select i.job, i.key from (
    select job, key, take from input order by key collate "C", job
  ) i
  cross join lateral (
    select 1 from regrow.ledger l
    where l.key = i.key and l.job = i.job and l.holder is not distinct from $1::text and l.take = i.take
    for update
  ) h
),
done as (
  delete from regrow.ledger l using held h
  where l.key = any (array(select key from input)) and l.key = h.key and l.job = h.job
)
select case when count(*) = $3::int then 1 else ('lease lost: ' || count(*))::int end as held from held
