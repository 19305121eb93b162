-- Remember: what came of a run without a claim, of a key that the ledger knows nothing of.
-- $1 json [{ job, key, state, version, failures, crashes, retry_ms, error }]
-- Returns the (job, key) written. A row that came into being meanwhile belongs to somebody else and is left alone.
insert into regrow.ledger (job, key, state, version, failures, crashes, retry_at, error, updated_at)
select job, key, state, version, failures, crashes, regrow.clock() + make_interval(secs => retry_ms / 1000), error, regrow.clock()
from jsonb_to_recordset($1::text::jsonb) as x(job text, key text, state text, version text,
  failures int, crashes int, retry_ms float8, error text)
order by key collate "C", job
on conflict (key, job) do nothing
returning job, key
