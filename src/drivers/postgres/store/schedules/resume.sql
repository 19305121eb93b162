-- Resume of one schedule, paused or ended by a person: slots whose instant has passed meanwhile are skipped; what follows is made
-- by who calls, and so is the account of all that passed: last_slot stays. One that had ended begins from now. One that is neither
-- paused nor ended stays as it is.
-- $1 name · $2 author. Returns a row when there is such a schedule.
with env as materialized (
  select regrow.clock() as at
),
mine as materialized (
  select s.name, s.job, s.ended_at is not null as ended, s.ended_at is not null or s.paused_at is not null as stopped
  from regrow.schedules s where s.name = $1::text for update
),
passed as (
  update regrow.slots t set state = 'skipped', reason = 'paused', ended_at = env.at
  from mine m cross join env
  where m.stopped and t.schedule = m.name and t.state in ('waiting', 'held') and t.begun_at is null and t.slot <= env.at
),
put as (
  update regrow.schedules s set paused_at = null, pause_reason = null, pause_author = null, ended_at = null, end_reason = null,
    seen_at = env.at, from_at = case when m.ended then env.at else s.from_at end, term = s.term + 1
  from mine m cross join env where m.stopped and s.name = m.name returning s.name, s.job
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select env.at, $2::text, 'schedule.resume', p.job, json_build_object('schedule', p.name)::text from put p cross join env
)
select name from mine
