-- Settle: writes outcomes, only where holder and take match (S3: only the current take settles).
-- $1 holder · $2 json [{ job, key, take, state, version, failures, crashes, retry_ms, error, finish, together }]
--   state 'done' deletes the row; finish true also deletes the intent of that id.
-- Returns the takes that were held; a missing one means: lease lost, the result is discarded.
-- Index: ledger_pkey, one probe per key in key order. No set_config here: an outcome is durable when it is told.
-- `is not distinct from` and not `=`: never by ledger_holder, whose entries are mostly of claims that are over.
-- Rows that are locked are found again by array and not by join: a join that was planned for an empty table walks the whole index.
with held as materialized (
  select i.* from (
    select job, key, take, state, version, failures, crashes, retry_ms, error, finish, together
    from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8, state text, version text,
      failures int, crashes int, retry_ms float8, error text, finish boolean, together int)
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
  where l.key = any (array(select key from held where state = 'done'))
    and l.take = any (array(select take from held where state = 'done')) and l.holder is not distinct from $1::text
),
kept as (
  update regrow.ledger l
  set holder = null, take = null, solo = false, state = h.state, version = h.version, failures = h.failures, crashes = h.crashes,
    -- A suspect that failed alone did not crash: its earlier crashes were somebody else's.
    pardoned = case when l.solo and h.failures > l.failures then h.crashes else least(l.pardoned, h.crashes) end,
    together = h.together,
    retry_at = regrow.clock() + make_interval(secs => h.retry_ms / 1000), error = h.error, updated_at = regrow.clock()
  from held h
  where l.key = any (array(select key from held where state <> 'done'))
    and h.state <> 'done' and l.take = h.take and l.holder is not distinct from $1::text
),
finished as (
  delete from regrow.intents n
  where n.id = any (array(select case when finish then key::uuid end from held where state = 'done' and finish))
)
select take::text as take from held
