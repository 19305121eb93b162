-- End of one schedule, by a person: slots that have not begun are skipped; its history stays until it is forgotten.
-- $1 name · $2 author. Returns a row when there is such a schedule: the instants that are skipped, json [ms].
with env as materialized (
  select regrow.clock() as at
),
put as (
  update regrow.schedules s set ended_at = env.at, end_reason = 'person', term = s.term + 1
  from env where s.name = $1::text and s.ended_at is null returning s.name, s.job
),
skipped as (
  update regrow.slots t set state = 'skipped', reason = 'ended', ended_at = env.at
  from env where t.schedule in (select name from put) and t.state in ('waiting', 'held') and t.begun_at is null
  returning t.slot
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select env.at, $2::text, 'schedule.end', p.job, json_build_object('schedule', p.name)::text from put p cross join env
)
select (select json_agg(extract(epoch from slot) * 1000 order by slot) from skipped)::text as skipped from put
