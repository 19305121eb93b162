-- Pop: removes and returns due hints, fresh ones first, but `$3` of them from the swept lane before that.
-- $1 json [{ job, most, fresh, swept }], the last two the due times that a pop before has come to; null: the beginning
-- $2 most hints over all jobs · $3 share of the swept lane
-- Returns one row: the canary (null when there is none), `hints`: json [[job, fresh, [key]]], `reached`: json
--   [[job, fresh, due time]] of the last one of each lane, and `at`, from when on to look in lanes that were emptied; where there
--   was none, also `wait_ms` until a delayed one comes due.
-- Index: hints_due; rows are deleted by where they stand.
-- A long transaction keeps every popped row in the table and its indexes: a pop that begins where the last one ended does not
-- step over them. What was committed late, more than a moment behind it, is found by those that begin at the beginning.
-- The canary is one row, and the planner has to be told: by its key, or a guess of thousands makes every pop worth planning anew.
-- SKIP LOCKED keeps two poppers apart; it does not skip rows that this statement has locked itself, hence `not in`.
with env as materialized (
  select regrow.clock() as at
),
wanted as materialized (
  select job, most, coalesce(fresh - interval '100 ms', '-infinity') as fresh, coalesce(swept - interval '100 ms', '-infinity') as swept
  from jsonb_to_recordset($1::text::jsonb) as x(job text, most int, fresh timestamptz, swept timestamptz)
),
share as materialized (
  select p.job, p.due_at, p.place from wanted w cross join env cross join lateral (
    select h.job, h.due_at, h.ctid as place from regrow.hints h
    where h.job = w.job and h.fresh = false and h.due_at >= w.swept and h.due_at <= env.at
    order by h.due_at limit least(w.most, $3::int)
    for update skip locked
  ) p
  limit $3::int
),
first as materialized (
  select p.job, p.due_at, p.place from wanted w cross join env cross join lateral (
    select h.job, h.due_at, h.ctid as place from regrow.hints h
    where h.job = w.job and h.fresh = true and h.due_at >= w.fresh and h.due_at <= env.at
    order by h.due_at limit w.most - (select count(*) from share s where s.job = w.job)
    for update skip locked
  ) p
  limit $2::int - (select count(*) from share)
),
rest as materialized (
  select p.job, p.due_at, p.place from wanted w cross join env cross join lateral (
    select h.job, h.due_at, h.ctid as place from regrow.hints h
    where h.job = w.job and h.fresh = false and h.due_at <= env.at
      and h.due_at >= coalesce((select max(s.due_at) from share s where s.job = w.job), w.swept)
      and h.ctid not in (select s.place from share s)
    order by h.due_at
    limit w.most - (select count(*) from share s where s.job = w.job) - (select count(*) from first f where f.job = w.job)
    for update skip locked
  ) p
  limit $2::int - (select count(*) from share) - (select count(*) from first)
),
gone as (
  delete from regrow.hints h
  where h.ctid = any (array(
    select place from first union all select place from share union all select place from rest
  ))
  returning h.job, h.key, h.fresh, h.due_at
)
select m.epoch::text as epoch, m.sequence::text as sequence, (select to_json(at - interval '1 s') #>> '{}' from env) as at,
  (select json_agg(json_build_array(l.job, l.fresh, l.keys) order by l.fresh desc) from (
    select g.job, g.fresh, json_agg(g.key order by g.due_at) as keys from gone g group by g.job, g.fresh
  ) l)::text as hints,
  (select json_agg(json_build_array(r.job, r.fresh, r.due_at)) from (
    select job, fresh, max(due_at) as due_at from gone group by job, fresh
  ) r)::text as reached,
  case when not exists (select 1 from gone) then (
    select extract(epoch from min(n.due_at) - (select at from env)) * 1000
    from wanted w cross join (values (true), (false)) as lane(fresh) cross join lateral (
      select h.due_at from regrow.hints h
      where h.job = w.job and h.fresh = lane.fresh and h.due_at > (select at from env)
      order by h.due_at limit 1
    ) n
  ) end::float8 as wait_ms
from (select 1) as one
left join regrow.canary m on m.one
