-- Run: a slot of this moment, beside the pattern. A person's act: it is in the audit.
-- $1 name · $2 author. Returns lane, key and slot, when there is such a schedule and it is neither paused nor ended. The key is what
-- slotKey makes: the instant in UTC, to the ms.
with env as materialized (
  select date_trunc('milliseconds', regrow.clock()) as at
),
mine as materialized (
  select s.* from regrow.schedules s where s.name = $1::text and s.ended_at is null and s.paused_at is null for update
),
put as (
  insert into regrow.slots (schedule, slot, version, lane, key, due_at, state, made_at)
  select s.name, env.at, s.version, s.lane,
    s.name || '@' || s.version || '@' || to_char(env.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), env.at, 'waiting', env.at
  from mine s cross join env
  on conflict (schedule, slot) do nothing
  returning lane, key, slot
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select env.at, $2::text, 'schedule.run', s.job, json_build_object('schedule', s.name)::text from mine s cross join env
)
select lane, key, (extract(epoch from slot) * 1000)::float8 as slot_ms from put
