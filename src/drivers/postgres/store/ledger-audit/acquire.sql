-- Turn: one auditor of schedules at a time over the fleet, by compare-and-set on the store's clock (S10).
-- $1 ms until the next audit · $2 json { name: version } of the schedules that this process has declared
-- Returns one row: won, wait_ms until somebody may win again, and missing: one of those is not there, or older than it was declared,
-- after a restore for one. A turn far ahead is of a clock that is set back since (L10).
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $1::float8 / 1000) as every, set_config('synchronous_commit', 'off', true) as quick
),
won as (
  update regrow.pulse p set audit_at = env.at + env.every from env 
  where (p.audit_at <= env.at or p.audit_at > env.at + greatest(env.every * 3, interval '1 minute')) and env.quick = 'off' returning 1
)
select exists (select 1 from won) as won,
  -- Without its row, which each beat makes again, nobody wins.
  case when p.one then extract(epoch from greatest(p.audit_at, env.at) - env.at) * 1000 else 1000 end::float8 as wait_ms,
  exists (
    select 1 from jsonb_each_text($2::text::jsonb) as d(name, version) left join regrow.schedules s on s.name = d.name
    where s.name is null or s.version < d.version::int or s.end_reason = 'absent'
  ) as missing
from env left join regrow.pulse p on true
