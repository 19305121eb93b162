-- Declare: adds schedules, or changes those that are there under the same name. A change raises the version and holds slots
-- that have not begun, so that an old hint starts nothing until somebody has looked whether they are still in the pattern.
-- $1 json [{ name, job, lane, cron, every_ms, tz, start_at, end_at, missed, overlap, jitter_ms, key, input, declared }]
-- Returns the names that are there now as declared by code, or as made at run time, whichever was asked for. What a person
-- ended stays ended and as it was, whoever declares it; what ended because nobody declared it comes back.
with env as materialized (
  select regrow.clock() as at
),
given as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as x(name text, job text, lane text, cron text, every_ms int8, tz text,
    start_at timestamptz, end_at timestamptz, missed text, overlap text, jitter_ms int8, key text, input jsonb, declared boolean)
),
put as (
  insert into regrow.schedules as s (name, job, lane, cron, every_ms, tz, start_at, end_at, missed, overlap, jitter_ms, key, input,
    declared, from_at, created_at, seen_at)
  select g.name, g.job, g.lane, g.cron, g.every_ms, g.tz, g.start_at, g.end_at, g.missed, g.overlap, g.jitter_ms, g.key, g.input,
    g.declared, env.at, env.at, env.at
  from given g cross join env order by g.name collate "C"
  on conflict (name) do update set job = excluded.job, lane = excluded.lane, cron = excluded.cron, every_ms = excluded.every_ms,
    tz = excluded.tz, start_at = excluded.start_at, end_at = excluded.end_at, missed = excluded.missed, overlap = excluded.overlap,
    jitter_ms = excluded.jitter_ms, key = excluded.key, input = excluded.input,
    -- With the same pattern, instants that passed before the edit are still its own, and are caught up (S9).
    from_at = case when s.ended_at is null and (s.cron, s.every_ms, s.tz, s.start_at, s.end_at) is not distinct from
      (excluded.cron, excluded.every_ms, excluded.tz, excluded.start_at, excluded.end_at) then s.from_at else excluded.from_at end,
    seen_at = excluded.seen_at, version = s.version + 1, term = s.term + 1, ended_at = null, end_reason = null
  where s.declared = excluded.declared and s.end_reason is distinct from 'person'
    and (s.ended_at is not null or (s.job, s.lane, s.cron, s.every_ms, s.tz, s.start_at, s.end_at, s.missed, s.overlap, s.jitter_ms, s.key, s.input)
      is distinct from (excluded.job, excluded.lane, excluded.cron, excluded.every_ms, excluded.tz, excluded.start_at, excluded.end_at,
        excluded.missed, excluded.overlap, excluded.jitter_ms, excluded.key, excluded.input))
  returning s.name
),
held as (
  update regrow.slots t set state = 'held'
  where t.schedule in (select name from put) and t.state = 'waiting' and t.begun_at is null
)
select g.name from given g
where exists (select 1 from put where put.name = g.name)
  or exists (select 1 from regrow.schedules s where s.name = g.name and s.declared = g.declared)
