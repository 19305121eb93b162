-- Run: a slot of this moment, beside the pattern. A person's act: it is in the audit.
-- $1 name · $2 author. Returns lane, key and slot, when there is such a schedule and it is neither paused nor ended. The key is what
-- slotKey makes: the instant in UTC, to the ms.
with env as materialized (
  select date_trunc('milliseconds', regrow.clock()) as at
),
-- Never on an instant of the pattern, which accounts for all before it (S9): then it is a millisecond later.
mine as materialized (
  select s.*, env.at + case when mod((extract(epoch from env.at - coalesce(s.start_at, 'epoch')) * 1000)::int8, coalesce(s.every_ms, 1000)) = 0
    or mod((extract(epoch from env.at) * 1000)::int8, 1000) = 0 then interval '1 ms' else interval '0' end as slot
  from regrow.schedules s cross join env where s.name = $1::text and s.ended_at is null and s.paused_at is null for update of s
),
put as (
  insert into regrow.slots (schedule, slot, version, lane, key, due_at, state, made_at)
  select s.name, s.slot, s.version, s.lane,
    s.name || '@' || s.version || '@' || to_char(s.slot at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), env.at, 'waiting', env.at
  from mine s cross join env
  on conflict (schedule, slot) do nothing
  returning lane, key, slot
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select env.at, $2::text, 'schedule.run', s.job, json_build_object('schedule', s.name)::text from mine s cross join env
)
select lane, key, (extract(epoch from slot) * 1000)::float8 as slot_ms from put
