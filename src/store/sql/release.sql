-- Release: gives claims back; nothing is counted.
-- $1 holder · $2 json [{ job, key, take }]
-- Returns the released (job, key). Only where holder and take match (S3). Rows are locked in key order.
-- `is not distinct from` and not `=`: never by ledger_taken, whose entries are mostly of claims that are over.
-- `any (array(...))` beside the join: planned for an empty table, a join alone would walk the whole index, dead rows and all.
with input as materialized (
  select job, key, take from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
),
env as materialized (
  select set_config('synchronous_commit', 'off', true) as quick
),
held as materialized (
  select i.job, i.key, h.blank from (
    select job, key, take from input order by key collate "C", job
  ) i
  cross join env
  cross join lateral (
    select l.failures = 0 and l.crashes = 0 and l.retry_at is null as blank from regrow.ledger l
    where l.key = i.key and l.job = i.job and l.holder is not distinct from $1::text and l.take = i.take and env.quick = 'off'
    for update
  ) h
),
gone as (
  delete from regrow.ledger l using held h
  where l.key = any (array(select key from input)) and h.blank and l.key = h.key and l.job = h.job
),
kept as (
  update regrow.ledger l set holder = null, take = null, state = 'retrying', solo = false, updated_at = regrow.clock()
  from held h where l.key = any (array(select key from input)) and not h.blank and l.key = h.key and l.job = h.job
)
select job, key from held
