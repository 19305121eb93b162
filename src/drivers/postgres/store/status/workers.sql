-- Inspect workers: who works, on what, and how many keys each one holds. $1 lease in ms
-- Index: ledger_taken, once per worker.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $1::float8 / 1000) as lease
)
select w.id, w.host, w.pid, (extract(epoch from w.started_at) * 1000)::float8 as started_ms,
  (extract(epoch from w.beat_at) * 1000)::float8 as beat_ms,
  w.beat_at >= env.at - coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) as live, w.lease_ms::float8 as lease_ms, -- since 9
  w.beat_at >= env.at - env.lease as live, -- before 9
  (select coalesce(json_agg(x.job order by x.job), '[]') from jsonb_object_keys(w.jobs) as x(job))::text as jobs,
  (select count(*) from regrow.ledger l where l.holder = w.id)::int as running,
  w.stuck
from regrow.workers w cross join env
order by w.started_at, w.id
