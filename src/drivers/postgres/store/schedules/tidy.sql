-- Tidy: what an audit does besides: schedules that live workers have are seen; those that no live worker declared for seven days
-- end, and their slots that have not begun with them; but not before somebody has worked for an hour: after a time in which nobody
-- did, those who have them may be starting still. So do, an hour after the end, slots that had begun and that nobody holds: they
-- wait for an attempt that never comes. Slots that ended thirty days ago are forgotten, some thousand at a time.
-- $1 lease in ms
-- Returns one row: ended (json [name]) and forgotten. Index: slots_open, slots_ended.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $1::float8 / 1000) as lease
),
live as materialized (
  select distinct j.job from regrow.workers w cross join env cross join lateral jsonb_object_keys(w.jobs) as j(job)
  where w.beat_at > env.at - coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) -- since 9
  where w.beat_at > env.at - env.lease -- before 9
),
settled as materialized (
  select exists (
    select 1 from regrow.workers w where w.started_at <= env.at - interval '1 hour'
      and w.beat_at > env.at - coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) -- since 9
      and w.beat_at > env.at - env.lease -- before 9
  ) as yes from env
),
mine as materialized (
  select s.name, s.lane in (select job from live) as live from regrow.schedules s cross join env
  where s.declared and s.ended_at is null
    and case when s.lane in (select job from live) then s.seen_at < env.at - interval '1 hour'
      else s.seen_at < env.at - interval '7 days' and (select yes from settled) end
  order by s.name limit 1000 for update of s skip locked
),
seen as (
  update regrow.schedules s set seen_at = env.at from mine m cross join env where s.name = m.name and m.live
),
ended as (
  update regrow.schedules s set ended_at = env.at, end_reason = 'absent', term = s.term + 1
  from mine m cross join env where s.name = m.name and not m.live returning s.name
),
skipped as (
  update regrow.slots t set state = 'skipped', reason = 'ended', ended_at = env.at
  from env where t.schedule in (select name from ended) and t.state in ('waiting', 'held') and t.begun_at is null
),
left_over as (
  update regrow.slots t set state = 'skipped', reason = 'ended', ended_at = env.at
  from env, regrow.schedules s
  where t.state in ('waiting', 'held') and s.name = t.schedule and s.ended_at < env.at - interval '1 hour' and not exists (
    select 1 from regrow.ledger l where l.key = t.key and l.job = t.lane and (l.holder is not null or l.state = 'quarantined')
  )
),
old as materialized (
  select t.ctid as place from regrow.slots t cross join env
  where t.state in ('ran', 'skipped') and t.ended_at < env.at - interval '30 days' limit 5000 for update of t skip locked
),
gone as (
  delete from regrow.slots t where t.ctid = any (array(select place from old)) returning 1
)
select (select json_agg(name) from ended)::text as ended, (select count(*) from gone)::int as forgotten
