-- Write: what was decided of schedules, where nobody has written since they were read (S9: decisions of one schedule come one
-- after the other).
-- $1 json [{ name, term, last_slot }]
-- $2 json [{ schedule, slot, version, lane, key, due_at, state, reason, through, count, begins }]
-- $3 whether this is an audit, which stamps what it saw
-- Returns the names that were as they had been read. A slot that ran or was skipped stays as it is, unless an edit had replaced
-- it, or a resume found it before last_slot had come to it: then it never ran, and may come back, or be one of many that a later row
-- stands for. One that is withdrawn has not begun, and is made again in its turn. No slot at or before last_slot is ever made (M15).
-- No fsync of its own where nothing begins: after a crash of the server the same is decided again. A begin is on disk before its
-- handler starts: else its slot would be recorded as run, and what was accounted for with it forgotten.
with env as materialized (
  select regrow.clock() as at, case when $2::text not like '%"begins":true%' then set_config('synchronous_commit', 'off', true) end as quick
),
mine as materialized (
  select h.name, h.before, g.last_slot from (
    select * from jsonb_to_recordset($1::text::jsonb) as x(name text, term int8, last_slot timestamptz) order by name collate "C"
  ) g
  cross join lateral (
    select s.name, s.last_slot as before from regrow.schedules s
    where s.name = g.name and s.term = g.term and s.ended_at is null for update
  ) h
),
moved as (
  update regrow.schedules s set term = s.term + 1, last_slot = greatest(s.last_slot, m.last_slot),
    last_audit_at = case when $3::boolean then env.at else s.last_audit_at end
  from mine m cross join env where s.name = m.name and env.quick is distinct from ''
  returning s.name
),
asked as materialized (
  select x.* from jsonb_to_recordset($2::text::jsonb) as x(schedule text, slot timestamptz, version int, lane text, key text,
    due_at timestamptz, state text, reason text, through timestamptz, count int, begins boolean)
  join mine m on m.name = x.schedule left join regrow.slots o on o.schedule = x.schedule and o.slot = x.slot
  where o.state in ('waiting', 'held')
    or ((m.before is null or x.slot > m.before) and (o.state is null or o.reason in ('replaced', 'ended', 'paused')))
),
withdrawn as (
  delete from regrow.slots t using asked x
  where t.schedule = x.schedule and t.begun_at is null and case
    when x.state = 'withdrawn' then t.slot = x.slot and t.state in ('waiting', 'held')
    else t.slot > x.slot and t.slot <= x.through and t.reason in ('replaced', 'ended', 'paused')
  end
),
written as (
  insert into regrow.slots as t (schedule, slot, version, lane, key, due_at, state, reason, through, count, made_at, begun_at, ended_at)
  select x.schedule, x.slot, x.version, x.lane, x.key, x.due_at, x.state, x.reason, x.through, x.count, env.at,
    case when x.begins then env.at end, case when x.state = 'skipped' then env.at end
  from asked x cross join env
  where x.state <> 'withdrawn'
  on conflict (schedule, slot) do update set version = excluded.version, lane = excluded.lane, key = excluded.key, due_at = excluded.due_at,
    state = excluded.state, reason = excluded.reason, through = excluded.through, count = excluded.count, ended_at = excluded.ended_at,
    begun_at = coalesce(t.begun_at, excluded.begun_at)
  where t.state in ('waiting', 'held') or t.reason in ('replaced', 'ended', 'paused')
)
select name from moved
