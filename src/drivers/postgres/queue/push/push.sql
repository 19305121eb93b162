-- Push: adds hints, one per (job, key). A fresh one makes an existing hint sooner, a swept one leaves it alone.
-- $1 json [{ job, key, delay_ms, fresh }], each (job, key) once · $2 most due hints per job and lane · $3 most delayed per job
-- $4 epoch: into a queue of another one, or without a mark, only fresh hints go; null: whichever there is
-- Returns one row: json texts [[job, key]] of those that were merged, dropped, or not meant for this queue; the rest was added.
-- Index: hints_key for the conflict, hints_due for the bounds.
-- Rows are written in key order, so concurrent pushes of the same keys cannot deadlock.
-- Who gets into the fresh lane stands last there: pops do not look behind where they have been (pop.sql).
with env as materialized (
  select regrow.clock() as at
),
asked as materialized (
  select x.job, x.key, x.fresh, x.delay_ms,
    x.fresh or $4::text is null or exists (select 1 from regrow.canary c where c.one and c.epoch = $4::text::int8) as meant
  from jsonb_to_recordset($1::text::jsonb) as x(job text, key text, delay_ms float8, fresh boolean)
),
input as materialized (
  select x.job, x.key, x.fresh, coalesce(x.delay_ms, 0) > 0 as delayed,
    env.at + make_interval(secs => greatest(coalesce(x.delay_ms, 0), 0) / 1000) as due_at,
    exists (
      select 1 from regrow.hints h where octet_length(h.key) = octet_length(x.key) and h.key = x.key and h.job is not distinct from x.job
    ) as there
  from asked x cross join env where x.meant
),
lanes as materialized (
  select l.job, l.fresh, l.delayed,
    case when l.delayed then (
      select $3::int8 - count(*) from (
        select 1 from regrow.hints h where h.job = l.job and h.fresh in (true, false) and h.due_at > env.at limit $3::int8
      ) x
    ) else (
      select $2::int8 - count(*) from (
        select 1 from regrow.hints h where h.job = l.job and h.fresh = l.fresh and h.due_at <= env.at limit $2::int8
      ) x
    ) end as room
  from (select distinct job, fresh, delayed from input where not there) l cross join env
),
allowed as materialized (
  select i.job, i.key, i.fresh, i.due_at from input i where i.there
  union all
  select n.job, n.key, n.fresh, n.due_at from (
    select i.*, row_number() over (partition by i.job, i.fresh, i.delayed order by i.due_at, i.key) as place
    from input i where not i.there
  ) n
  join lanes l on l.job = n.job and l.fresh = n.fresh and l.delayed = n.delayed
  where n.place <= l.room
),
put as (
  insert into regrow.hints as h (job, key, due_at, fresh)
  select job, key, due_at, fresh from allowed order by job collate "C", key collate "C"
  on conflict (octet_length(key), key, job) do update
    set due_at = least(case when h.fresh then h.due_at else greatest(h.due_at, (select at from env)) end, excluded.due_at),
      fresh = true
    where excluded.fresh and (not h.fresh or excluded.due_at < h.due_at)
  returning h.job, h.key, h.due_at, (xmax = 0) as added
),
told as materialized (
  select pg_notify('regrow_hints', p.job)::text from (
    select distinct p.job from put p cross join env where p.due_at <= env.at
  ) p
)
select (
    select json_agg(json_build_array(a.job, a.key)) from allowed a
    where (a.job, a.key) not in (select p.job, p.key from put p where p.added)
  )::text as merged,
  (
    select json_agg(json_build_array(i.job, i.key)) from input i
    where (i.job, i.key) not in (select a.job, a.key from allowed a)
  )::text as dropped,
  (select json_agg(json_build_array(a.job, a.key)) from asked a where not a.meant)::text as lost,
  (select count(*) from told)::int as told
