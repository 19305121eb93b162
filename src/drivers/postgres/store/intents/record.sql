-- Record: intents are written once per id, however often the write is repeated (F37), and once per unique key.
-- $1 job · $2 json [{ id, input, in_ms, at_ms, unique_key }] · at_ms is an epoch, in_ms counts from the store's clock
-- $3 how long to wait for a transaction that holds one of the names, as a text with its unit, or null: as long as it takes. A
--   lock timeout holds from the next wait on, so it can be set by the statement that it is for.
-- Returns one row: whether the job is paused, the store's clock as an epoch in ms, and `others`: json
--   [[id, whether it is new, the id that holds its unique key, another job that has its id]] of those that are not simply new
--   or that have a unique key. Most are new and have none: told as rows they cost more than the insert.
-- `is distinct from`: who names ids is led to them by intents_pkey, never along intents_of_job.
-- Written in the order of unique keys, then ids: writers of the same ones wait for each other in one direction (M30).
with env as materialized (
  select regrow.clock() as at,
    case when $3::text is not null then set_config('lock_timeout', $3::text, true) end as lock_timeout
),
input as materialized (
  select id, input, in_ms, at_ms, unique_key
  from jsonb_to_recordset($2::text::jsonb) as x(id uuid, input jsonb, in_ms float8, at_ms float8, unique_key text)
),
added as (
  insert into regrow.intents (id, job, input, run_at, unique_key, created_at)
  select id, $1::text, input,
    case when at_ms is not null then to_timestamp(at_ms / 1000)
      when in_ms > 0 then env.at + make_interval(secs => in_ms / 1000) end,
    unique_key, env.at
  from input cross join env order by unique_key collate "C", id
  on conflict do nothing
  returning id, unique_key
)
select exists (select 1 from regrow.pauses p where p.job = $1::text and (p.until is null or p.until > (select at from env))) as paused,
  (select extract(epoch from at) * 1000 from env)::float8 as at_ms,
  (
    select json_agg(json_build_array(i.id, a.id is not null,
      coalesce(u.id, (select n.id from regrow.intents n where n.job = $1::text and n.unique_key = i.unique_key), i.id),
      (select n.job from regrow.intents n where n.id = i.id and n.job is distinct from $1::text)
    ))
    from input i left join added a on a.id = i.id left join added u on u.unique_key = i.unique_key
    where a.id is null or i.unique_key is not null
  )::text as others
