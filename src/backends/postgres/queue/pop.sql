-- Pop: removes and returns due hints, fresh ones first, but `$3` of them from the swept lane before that.
-- $1 json [{ job, most }] · $2 most hints over all jobs · $3 share of the swept lane
-- Returns at least one row: the canary (null when there is none) and the hint, if any. Index: hints_due.
-- The canary is one row, and the planner has to be told: a guess of thousands made every pop worth compiling (JIT, 150 ms).
-- SKIP LOCKED keeps two poppers apart; it does not skip rows that this statement has locked itself, hence `not exists`.
with env as materialized (
  select regrow.clock() as at
),
wanted as materialized (
  select job, most from jsonb_to_recordset($1::text::jsonb) as x(job text, most int)
),
share as materialized (
  select p.job, p.key, p.fresh, p.due_at from wanted w cross join env cross join lateral (
    select h.job, h.key, h.fresh, h.due_at from regrow.hints h
    where h.job = w.job and h.fresh = false and h.due_at <= env.at
    order by h.due_at limit least(w.most, $3::int)
    for update skip locked
  ) p
  limit $3::int
),
first as materialized (
  select p.job, p.key, p.fresh, p.due_at from wanted w cross join env cross join lateral (
    select h.job, h.key, h.fresh, h.due_at from regrow.hints h
    where h.job = w.job and h.fresh = true and h.due_at <= env.at
    order by h.due_at limit w.most - (select count(*) from share s where s.job = w.job)
    for update skip locked
  ) p
  limit $2::int - (select count(*) from share)
),
rest as materialized (
  select p.job, p.key, p.fresh, p.due_at from wanted w cross join env cross join lateral (
    select h.job, h.key, h.fresh, h.due_at from regrow.hints h
    where h.job = w.job and h.fresh = false and h.due_at <= env.at
      and not exists (select 1 from share s where s.job = h.job and s.key = h.key)
    order by h.due_at
    limit w.most - (select count(*) from share s where s.job = w.job) - (select count(*) from first f where f.job = w.job)
    for update skip locked
  ) p
  limit $2::int - (select count(*) from share) - (select count(*) from first)
),
chosen as materialized (
  select * from first union all select * from share union all select * from rest
),
gone as (
  delete from regrow.hints h using chosen c where h.job = c.job and h.key = c.key
  returning h.job, h.key, h.fresh, c.due_at
)
select m.epoch::text as epoch, m.sequence::text as sequence, g.job, g.key, g.fresh
from (select 1) as one
left join (select epoch, sequence from regrow.canary limit 1) m on true
left join gone g on true
order by g.fresh desc, g.due_at
