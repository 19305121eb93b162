-- Fence: holds the claims of keys until the user's transaction ends; settles nothing.
-- $1 holder · $2 json [{ job, key, take }]
-- Returns the takes that are held.
-- `is not distinct from` and not `=`: never by ledger_taken, whose entries are mostly of claims that are over.
select i.take::text as take from (
  select job, key, take from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
  order by key collate "C", job
) i
cross join lateral (
  select 1 from regrow.ledger l
  where l.key = i.key and l.job = i.job and l.holder is not distinct from $1::text and l.take = i.take
  for update
) h
