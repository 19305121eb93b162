-- Pop of fresh hints alone, for who was just told of a push: half of what pop.sql takes to begin with.
-- $1 json [{ job, most, fresh }], as in pop.sql · $2 most hints over all jobs
-- Returns one row as pop.sql does, without `wait_ms`: who finds nothing here has to look there.
-- Index: hints_due; rows are deleted by where they stand.
with env as materialized (
  select regrow.clock() as at
),
first as materialized (
  select p.place from jsonb_to_recordset($1::text::jsonb) as w(job text, most int, fresh timestamptz) cross join lateral (
    select h.ctid as place from regrow.hints h
    where h.job = w.job and h.fresh = true and h.due_at <= (select at from env)
      and h.due_at >= coalesce(w.fresh - interval '100 ms', '-infinity')
    order by h.due_at limit w.most
    for update skip locked
  ) p
  limit $2::int
),
gone as (
  delete from regrow.hints h where h.ctid = any (array(select place from first))
  returning h.job, h.key, h.due_at
)
select m.epoch::text as epoch, m.sequence::text as sequence, (select to_json(at - interval '1 s') #>> '{}' from env) as at,
  (select json_agg(json_build_array(l.job, true, l.keys)) from (
    select g.job, json_agg(g.key order by g.due_at) as keys from gone g group by g.job
  ) l)::text as hints,
  (select json_agg(json_build_array(r.job, true, r.due_at)) from (
    select job, max(due_at) as due_at from gone group by job
  ) r)::text as reached
from (select 1) as one
left join regrow.canary m on m.one
