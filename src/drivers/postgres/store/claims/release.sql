-- Release: gives claims back; nothing is counted.
-- $1 holder · $2 json [{ job, key, take }]
-- Returns the released (job, key). Only where holder and take match (S3). Rows are locked in key order.
-- `is not distinct from` and not `=`: never by ledger_taken, whose entries are mostly of claims that are over.
-- What was taken has waited: a retry_at that is ahead again is of a clock that was set back meanwhile, and is over (L10).
-- Rows that are locked are found again by arrays, and by a sublink that `is true` keeps from becoming a join: planned for an empty
-- table, a join walks the whole index, dead rows and all.
with input as materialized (
  select job, key, take from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
),
env as materialized (
  select set_config('synchronous_commit', 'off', true) as quick
),
held as materialized (
  select i.job, i.key from (
    select job, key, take from input order by key collate "C", job
  ) i
  cross join env
  cross join lateral (
    select 1 from regrow.ledger l
    where l.key = i.key and l.job = i.job and l.holder is not distinct from $1::text and l.take = i.take and env.quick = 'off'
    for update
  ) h
),
gone as (
  delete from regrow.ledger l
  where l.key = any (array(select key from input)) and ((l.job, l.take) in (select job, take from input)) is true
    and l.holder is not distinct from $1::text and l.failures = 0 and l.crashes = 0 and l.retry_at is null
),
kept as (
  update regrow.ledger l set holder = null, take = null, state = 'retrying', solo = false, updated_at = regrow.clock(),
    retry_at = case when l.retry_at > regrow.clock() then regrow.clock() else l.retry_at end
  where l.key = any (array(select key from input)) and ((l.job, l.take) in (select job, take from input)) is true
    and l.holder is not distinct from $1::text and not (l.failures = 0 and l.crashes = 0 and l.retry_at is null)
)
select job, key from held
