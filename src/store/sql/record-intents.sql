-- Record: intents are written once per id, however often the write is repeated (F37), and once per unique key.
-- $1 job · $2 json [{ id, input, in_ms, at_ms, unique_key }] · at_ms is an epoch, in_ms counts from the store's clock
-- Returns one row per intent: id, whether it is new, the id that holds its unique key, another job that has its id, and
-- whether the job is paused.
-- Written in the order of unique keys, then ids: writers of the same ones wait for each other in one direction (M30).
with input as materialized (
  select id, input, in_ms, at_ms, unique_key
  from jsonb_to_recordset($2::text::jsonb) as x(id uuid, input jsonb, in_ms float8, at_ms float8, unique_key text)
),
added as (
  insert into regrow.intents (id, job, input, run_at, unique_key, created_at)
  select id, $1::text, input,
    case when at_ms is not null then to_timestamp(at_ms / 1000)
      when in_ms > 0 then regrow.clock() + make_interval(secs => in_ms / 1000) end,
    unique_key, regrow.clock()
  from input order by unique_key collate "C", id
  on conflict do nothing
  returning id, unique_key
)
select i.id::text as id, a.id is not null as added,
  coalesce(u.id, (select n.id from regrow.intents n where n.job = $1::text and n.unique_key = i.unique_key), i.id)::text as held_by,
  (select n.job from regrow.intents n where n.id = i.id and n.job <> $1::text) as other_job,
  exists (select 1 from regrow.pauses p where p.job = $1::text and (p.until is null or p.until > regrow.clock())) as paused,
  coalesce(extract(epoch from to_timestamp(i.at_ms / 1000) - regrow.clock()) * 1000, i.in_ms, 0)::float8 as wait_ms
from input i left join added a on a.id = i.id left join added u on u.unique_key = i.unique_key
