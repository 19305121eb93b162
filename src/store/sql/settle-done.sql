-- Settle of successes alone, the common case: the same fence as in settle.sql (S3), in fewer words for the server to plan.
-- $1 holder · $2 json [{ job, key, take }]
-- Returns one row: `takes`, those that were held. Index: ledger_pkey, one probe per key in key order (M30).
-- `is not distinct from` and not `=`: never by ledger_taken, whose entries are mostly of claims that are over.
-- `any (array(...))` beside the join: planned for an empty table, a join alone would walk the whole index, dead rows and all.
with input as materialized (
  select job, key, take from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
),
held as materialized (
  select i.job, i.key, i.take from (
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
select string_agg(take::text, ',') as takes from held
