-- List: schedules as people see them, and the store's time.
-- $1 one name, or null · $2 of this job, or null · $3 after this name, or null · $4 so many at most · $5 lease in ms
-- Index: schedules_pkey; slots_open; ledger_pkey for slots that have begun; slots_pkey, backwards, for what was handed over last.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $5::float8 / 1000) as lease
),
live as materialized (
  select distinct j.job from regrow.workers w cross join env cross join lateral jsonb_object_keys(w.jobs) as j(job)
  where w.beat_at > env.at - coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) -- since 9
  where w.beat_at > env.at - env.lease -- before 9
),
chosen as materialized (
  select s.* from regrow.schedules s
  where ($1::text is null or s.name = $1::text) and ($2::text is null or s.job = $2::text) and s.name > coalesce($3::text, '')
  order by s.name limit $4::int
)
select
  coalesce(h.handed_intent::text, h.handed_key) as handed_key, h.handed_job, -- since 9
  case -- since 9
    when h.handed_job is null then null -- since 9
    when h.reason = 'dropped' then 'dropped' -- since 9
    else coalesce(( -- since 9
      select case when l.holder is not null then 'running' when l.state = 'quarantined' then l.state else 'retrying' end -- since 9
      from regrow.ledger l where l.key = coalesce(h.handed_intent::text, h.handed_key) and l.job = h.handed_job -- since 9
    ), case when h.handed_intent is null then 'unknown' -- since 9
      when exists (select 1 from regrow.intents n where n.id = h.handed_intent) then 'pending' else 'done' end) -- since 9
  end as handed_state, -- since 9
  null as handed_key, null as handed_job, null as handed_state, -- before 9
  (extract(epoch from h.slot) * 1000)::float8 as handed_ms, -- since 9
  null as handed_ms, -- before 9
  (extract(epoch from env.at) * 1000)::float8 as at_ms, s.name, s.job, s.lane, s.version, s.cron, s.every_ms::float8 as every_ms, s.tz,
  s.missed, s.overlap, s.jitter_ms::float8 as jitter_ms, s.key, s.input::text as input, s.declared, s.pause_reason, s.pause_author, s.end_reason,
  (extract(epoch from s.start_at) * 1000)::float8 as start_at_ms, (extract(epoch from s.end_at) * 1000)::float8 as end_at_ms,
  (extract(epoch from s.created_at) * 1000)::float8 as created_ms, (extract(epoch from s.last_slot) * 1000)::float8 as last_slot_ms,
  (extract(epoch from s.last_audit_at) * 1000)::float8 as audit_ms, (extract(epoch from s.paused_at) * 1000)::float8 as paused_ms,
  (extract(epoch from s.ended_at) * 1000)::float8 as ended_ms,
  (extract(epoch from n.slot) * 1000)::float8 as next_slot_ms, (extract(epoch from n.due_at) * 1000)::float8 as next_due_ms,
  case when s.lane = s.job then s.lane in (select job from live) else exists (select 1 from live) end as live,
  exists (
    select 1 from regrow.slots o join regrow.ledger l on l.key = o.key and l.job = o.lane and l.holder is not null
    where o.schedule = s.name and o.state = 'waiting' and o.begun_at is not null
  ) as running
from env left join chosen s on true left join lateral (
  select o.slot, o.due_at from regrow.slots o
  where o.schedule = s.name and o.state in ('waiting', 'held') and o.begun_at is null order by o.slot limit 1
) n on true left join lateral ( -- since 9
  select t.slot, t.reason, t.handed_job, t.handed_intent, t.handed_key from regrow.slots t -- since 9
  where t.schedule = s.name and t.handed_job is not null order by t.slot desc limit 1 -- since 9
) h on s.lane <> s.job -- since 9
) n on true -- before 9
order by s.name
