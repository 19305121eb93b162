-- Settle: writes outcomes, only where holder and take match (S3: only the current take settles).
-- $1 holder · $2 json [{ job, key, take, state, version, failures, crashes, retry_ms, error, finish, together }]
--   state 'done' deletes the row; finish 'intent' also deletes the intent of that id, 'slot' records that slot as run.
-- Returns the takes that were held; a missing one means: lease lost, the result is discarded.
-- Index: ledger_pkey, one probe per key in key order. No set_config here: an outcome is durable when it is told.
-- `is not distinct from` and not `=`: never by ledger_taken, whose entries are mostly of claims that are over.
-- Rows that are locked are found again by arrays, and by a sublink that `is true` keeps from becoming a join: planned for an empty
-- table, a join walks the whole index, dead rows and all.
with input as materialized (
  select job, key, take, state, version, failures, crashes, retry_ms, error, finish, together
  from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8, state text, version text,
    failures int, crashes int, retry_ms float8, error text, finish text, together int)
),
held as materialized (
  select i.* from (select * from input order by key collate "C", job) i
  cross join lateral (
    select 1 from regrow.ledger l
    where l.key = i.key and l.job = i.job and l.holder is not distinct from $1::text and l.take = i.take
    for update
  ) h
),
done as (
  delete from regrow.ledger l
  where l.key = any (array(select key from input where state = 'done'))
    and ((l.job, l.take) in (select job, take from input where state = 'done')) is true and l.holder is not distinct from $1::text
),
kept as (
  update regrow.ledger l
  set holder = null, take = null, solo = false, state = h.state, version = h.version, failures = h.failures, crashes = h.crashes,
    -- A suspect that failed alone did not crash: its earlier crashes were somebody else's.
    pardoned = case when l.solo and h.failures > l.failures then h.crashes else least(l.pardoned, h.crashes) end,
    together = h.together,
    retry_at = regrow.clock() + make_interval(secs => h.retry_ms / 1000), error = h.error, updated_at = regrow.clock()
  from held h
  where l.key = any (array(select key from input where state <> 'done'))
    and h.state <> 'done' and l.job = h.job and l.take = h.take and l.holder is not distinct from $1::text
),
finished as (
  delete from regrow.intents n
  where n.id = any (array(select case when h.finish = 'intent' then h.key::uuid end from held h where h.state = 'done' and h.finish = 'intent'))
),
ran as (
  update regrow.slots t set state = 'ran', ended_at = regrow.clock()
  where t.lane = any (array(select h.job from held h where h.state = 'done' and h.finish = 'slot'))
    and t.key = any (array(select h.key from held h where h.state = 'done' and h.finish = 'slot')) and t.state = 'waiting'
)
select take::text as take from held
