-- Push, the quick way: due hints of one job for one lane that is known to have room. Keys that are there are left alone and
-- told; whoever pushed decides whether they have to be moved (push.sql).
-- $1 job · $2 keys as text of an array, each once · $3 fresh · $4 epoch, as in push.sql
-- Returns one row: added, meant, and `there`: json [[key, whether a fresh push would move it]]. Index: hints_key.
-- A key that somebody else pushes at this moment is a unique violation: ON CONFLICT would cost every row half as much again.
-- Keys are looked up one by one, and never by their job: the plan is kept from when the table was small, and an index of all
-- hints of a job, those that are gone among them, would serve it as well then.
-- Rows are written in key order, so concurrent pushes of the same keys cannot deadlock.
with env as materialized (
  select regrow.clock() as at,
    $3::boolean or $4::text is null or exists (select 1 from regrow.canary c where c.one and c.epoch = $4::text::int8) as meant
),
there as materialized (
  select k.key, not h.fresh or h.due_at > (select at from env) as movable
  from unnest($2::text::text[]) as k(key) cross join lateral (
    select h.fresh, h.due_at from regrow.hints h
    where octet_length(h.key) = octet_length(k.key) and h.key = k.key and h.job is not distinct from $1::text offset 0
  ) h
),
put as (
  insert into regrow.hints (job, key, due_at, fresh)
  select $1::text, k.key, env.at, $3::boolean
  from unnest($2::text::text[]) as k(key) cross join env
  where env.meant and k.key not in (select t.key from there t)
  order by k.key collate "C"
  returning 1
),
added as materialized (
  select count(*)::int as count from put
)
select added.count as added, env.meant,
  (select json_agg(json_build_array(t.key, t.movable)) from there t)::text as there,
  case when added.count > 0 then pg_notify('regrow_hints', $1::text)::text end as told
from added cross join env
