-- Release: gives claims back; nothing is counted.
-- $1 holder · $2 json [{ job, key, take }]
-- Returns the released (job, key). Only where holder and take match (S3). Rows are locked in key order.
-- `is not distinct from` and not `=`: never by ledger_holder, whose entries are mostly of claims that are over.
-- Rows that are locked are found again by array and not by join: a join that was planned for an empty table walks the whole index.
with env as materialized (
  select set_config('synchronous_commit', 'off', true) as quick
),
held as materialized (
  select i.job, i.key, i.take, h.blank from (
    select job, key, take from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
    order by key collate "C", job
  ) i
  cross join env
  cross join lateral (
    select l.failures = 0 and l.crashes = 0 and l.retry_at is null as blank from regrow.ledger l
    where l.key = i.key and l.job = i.job and l.holder is not distinct from $1::text and l.take = i.take and env.quick = 'off'
    for update
  ) h
),
gone as (
  delete from regrow.ledger l
  where l.key = any (array(select key from held where blank))
    and l.take = any (array(select take from held where blank)) and l.holder is not distinct from $1::text
),
kept as (
  update regrow.ledger l set holder = null, take = null, state = 'retrying', solo = false, updated_at = regrow.clock()
  where l.key = any (array(select key from held where not blank))
    and l.take = any (array(select take from held where not blank)) and l.holder is not distinct from $1::text
)
select job, key from held
