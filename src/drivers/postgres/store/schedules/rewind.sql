-- Rewind: brings schedules back to the present that a clock which is set back since has brought further (L10). What ran stays, and its
-- instants do not run again: ran_until says how far to look for them. What was skipped ahead of its time is forgotten, and slots that
-- wait are held until somebody has looked whether they are still the next ones. A schedule with more than a thousand runs ahead stays
-- as it is: almost every instant until then has run.
-- $1 json [name]. Returns their names. Index: schedules_pkey, slots_pkey.
with env as materialized (
  select regrow.clock() as at
),
late as materialized (
  select s.name, s.jitter_ms from regrow.schedules s cross join env
  where s.ended_at is null and s.name = any (array(select jsonb_array_elements_text($1::text::jsonb))) and (
    select count(*) from (
      select 1 from regrow.slots t where t.schedule = s.name and t.slot > env.at and t.state = 'ran' limit 1001
    ) ahead
  ) <= 1000
  order by s.name for update of s
),
held as (
  update regrow.slots t set state = 'held' from late cross join env
  where t.schedule = late.name and t.state = 'waiting' and t.begun_at is null
    and (t.slot > env.at or t.due_at > t.slot + make_interval(secs => late.jitter_ms::float8 / 1000))
),
forgotten as (
  delete from regrow.slots t using late cross join env
  where t.schedule = late.name and t.state = 'skipped' and t.slot > env.at
),
shortened as (
  update regrow.slots t set through = env.at, count = null from late cross join env
  where t.schedule = late.name and t.state = 'skipped' and t.slot <= env.at and t.through > env.at
)
update regrow.schedules s set term = s.term + 1,
  from_at = least(s.from_at, env.at),
  last_slot = case when s.last_slot > env.at then env.at else s.last_slot end,
  ran_until = (select max(t.slot) from regrow.slots t where t.schedule = s.name and t.slot > env.at and (t.state = 'ran' or t.begun_at is not null))
from late cross join env where s.name = late.name
returning s.name
