-- Remove of one schedule with its history, by a person or by code. What runs goes on, and is recorded nowhere.
-- $1 name · $2 author. Returns a row when there was such a schedule. What the ledger remembers of its slots goes with them, but for claims: a
-- schedule of this name that is made later has slots of the same keys. Ledger before slots, as in the settle. Index: schedules_pkey,
-- slots_pkey, ledger_pkey.
with env as materialized (
  select regrow.clock() as at
),
mine as materialized (
  select s.name, s.job from regrow.schedules s where s.name = $1::text for update
),
known as materialized (
  select l.key, l.job from regrow.ledger l
  join (select t.key, t.lane from regrow.slots t where t.schedule = (select name from mine) and t.state in ('waiting', 'held')) o
    on o.key = l.key and o.lane = l.job
  where l.holder is null
  order by l.key collate "C", l.job for update of l
),
forgotten as (
  delete from regrow.ledger l using known k where l.key = k.key and l.job = k.job and l.holder is null
),
unmade as (
  delete from regrow.slots t where t.schedule = (select name from mine)
),
gone as (
  delete from regrow.schedules s where s.name = (select name from mine) returning s.name, s.job
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select env.at, $2::text, 'schedule.remove', g.job, json_build_object('schedule', g.name)::text from gone g cross join env
)
select name from gone
