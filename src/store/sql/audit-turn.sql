-- Turn: one auditor of schedules at a time over the fleet, by compare-and-set on the store's clock (S10).
-- $1 ms until the next audit. Returns one row: won, and wait_ms until somebody may win again.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $1::float8 / 1000) as every, set_config('synchronous_commit', 'off', true) as quick
),
won as (
  update regrow.pulse p set audit_at = env.at + env.every from env where p.audit_at <= env.at and env.quick = 'off' returning 1
)
select exists (select 1 from won) as won,
  (extract(epoch from greatest(p.audit_at, env.at) - env.at) * 1000)::float8 as wait_ms
from regrow.pulse p cross join env
