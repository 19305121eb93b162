-- Settle of successes alone, the common case: the same fence as in settle.sql (S3), in fewer words for the server to plan.
-- $1 holder · $2 json [{ job, key, take }]
-- Returns one row: `takes`, those that were held. Index: ledger_pkey, one probe per key in key order (M30).
-- `is not distinct from` and not `=`: never by ledger_holder, whose entries are mostly of claims that are over.
-- Rows that are locked are found again by array and not by join: a join that was planned for an empty table walks the whole index.
with held as materialized (
  select i.key, i.take from (
    select job, key, take from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
    order by key collate "C", job
  ) i
  cross join lateral (
    select 1 from regrow.ledger l
    where l.key = i.key and l.job = i.job and l.holder is not distinct from $1::text and l.take = i.take
    for update
  ) h
),
done as (
  delete from regrow.ledger l
  where l.key = any (array(select key from held)) and l.take = any (array(select take from held))
    and l.holder is not distinct from $1::text
)
select string_agg(take::text, ',') as takes from held
