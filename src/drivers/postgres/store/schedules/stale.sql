-- Stale: schedules that should run and do not: the slot that waits is long due, none waits, or no live worker has it.
-- $1 lease in ms · $2 so many at most · $3 json [name] of schedules that the code declares: one that is not there at all, though a worker
-- that has it lives for half a minute, is told as 'undeclared'. Paused ones, and those of a paused job, stand still on purpose.
-- Returns name, job, why, since when, and when it would end by absence. Two minutes: an audit of many schedules takes half of one,
-- and a dead worker's slot is free after a lease. Index: slots_open; ledger_pkey for slots that have begun.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $1::float8 / 1000) as lease
),
live as materialized (
  select distinct j.job from regrow.workers w cross join env cross join lateral jsonb_object_keys(w.jobs) as j(job)
  where w.beat_at > env.at - coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) -- since 9
  where w.beat_at > env.at - env.lease -- before 9
)
select s.name, s.job, f.why, (extract(epoch from f.since) * 1000)::float8 as since_ms,
  case when s.declared and f.why = 'absent' then (extract(epoch from s.seen_at + interval '7 days') * 1000)::float8 end as ends_ms
from regrow.schedules s cross join env left join lateral (
  select o.due_at from regrow.slots o
  where o.schedule = s.name and o.state in ('waiting', 'held') and o.begun_at is null order by o.slot limit 1
) n on true
cross join lateral (
  select case
      when not case when s.lane = s.job then s.lane in (select job from live) else exists (select 1 from live) end then 'absent'
      when n.due_at is null then 'missing'
      else 'late'
    end as why,
    coalesce(n.due_at, s.last_slot, s.from_at) as since
) f
where s.ended_at is null and s.paused_at is null
  and not exists (select 1 from regrow.pauses p where p.job = s.job and (p.until is null or p.until > env.at))
  and case f.why
    when 'absent' then true
    when 'missing' then greatest(s.last_slot, s.from_at) < env.at - interval '2 minutes' and (s.end_at is null or s.end_at > env.at)
    else f.since < env.at - interval '2 minutes'
  end
  and (f.why = 'absent' or not exists (
    select 1 from regrow.slots o join regrow.ledger l on l.key = o.key and l.job = o.lane and l.holder is not null
    where o.schedule = s.name and o.state = 'waiting' and o.begun_at is not null
  ))
  -- It waits for what an earlier slot handed over: where that stands still, its job is told of.
  and (f.why = 'absent' or s.lane = s.job or not exists (
    select 1 from regrow.intents n where n.job = s.job and n.unique_key = 'schedule ' || s.name and not exists (
      select 1 from regrow.ledger l where l.key = n.id::text and l.job = n.job and l.state = 'quarantined' and l.holder is null
    )
  ))
union all
select d.name, d.name, 'undeclared', (extract(epoch from env.at) * 1000)::float8, null
from jsonb_array_elements_text($3::text::jsonb) as d(name) cross join env
where not exists (select 1 from regrow.schedules s where s.name = d.name) and exists (
  select 1 from regrow.workers w where jsonb_exists(w.jobs, d.name) and w.started_at < env.at - interval '30 seconds'
) and d.name in (select job from live)
order by since_ms limit $2::int
