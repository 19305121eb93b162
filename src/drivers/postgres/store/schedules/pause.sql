-- Pause of one schedule: its slots start nothing from now on, whatever the queue says. A person's act: it is in the audit.
-- $1 name · $2 reason · $3 author. Returns a row when there is such a schedule.
with put as (
  update regrow.schedules s set paused_at = coalesce(s.paused_at, regrow.clock()), pause_reason = $2::text, pause_author = $3::text,
    term = s.term + 1
  where s.name = $1::text and s.ended_at is null returning s.name, s.job
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select regrow.clock(), $3::text, 'schedule.pause', p.job, json_build_object('schedule', p.name, 'reason', $2::text)::text from put p
)
select name from put
