-- Register: a worker appears under a new identity; its pulse is that of beat.sql.
-- $1 holder · $2 host · $3 pid · $4 json of its jobs · $5 lease in ms
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $5::float8 / 1000) as lease
),
fleet as materialized (
  select w.beat_at
    , coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) as lease -- since 9
    , env.lease -- before 9
  from regrow.workers w cross join env
),
pulse as (
  insert into regrow.pulse as p (one, beat_at, grace_until)
  select true, env.at, env.at + env.lease from env
  on conflict (one) do update set beat_at = excluded.beat_at,
    grace_until = coalesce(
      greatest(
        case when p.beat_at < excluded.beat_at - (select lease from env) / 2 then excluded.beat_at + (select lease from env) end,
        (
          select excluded.beat_at + max(f.lease) from fleet f
          where f.beat_at >= p.beat_at - f.lease and p.beat_at < excluded.beat_at - f.lease / 2
        )
      ),
      least(p.grace_until, excluded.beat_at + greatest((select lease from env), (select max(lease) from fleet)))
    )
    , set_back_at = case when p.beat_at > excluded.beat_at + interval '10 seconds' then excluded.beat_at else p.set_back_at end -- since 9
    , set_back_ms = case when p.beat_at > excluded.beat_at + interval '10 seconds' then extract(epoch from p.beat_at - excluded.beat_at) * 1000 else p.set_back_ms end -- since 9
)
insert into regrow.workers (id, host, pid, jobs, started_at, beat_at
  , lease_ms -- since 9
)
select $1::text, $2::text, $3::int, $4::text::jsonb, env.at, env.at
  , round($5::float8) -- since 9
from env
on conflict (id) do nothing
