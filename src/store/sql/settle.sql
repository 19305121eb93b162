-- Settle: writes outcomes, only where holder and take match (S3: only the current take settles).
-- $1 holder · $2 json [{ job, key, take, state, failures, retry_ms, error }]; state 'done' deletes the row
-- Returns the takes that were held; a missing one means: lease lost, the result is discarded.
-- Rows are locked in key order (M30).
with held as materialized (
  select x.* from regrow.ledger l
  join jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8, state text, failures int,
    retry_ms float8, error text) on l.key = x.key and l.job = x.job and l.take = x.take
  where l.holder = $1::text order by l.key, l.job for update of l
),
done as (delete from regrow.ledger l using held h where h.state = 'done' and l.key = h.key and l.job = h.job),
kept as (
  update regrow.ledger l
  set holder = null, take = null, state = h.state, failures = h.failures, error = h.error,
    retry_at = regrow.clock() + make_interval(secs => h.retry_ms / 1000)
  from held h where h.state <> 'done' and l.key = h.key and l.job = h.job
)
select take::text as take from held
