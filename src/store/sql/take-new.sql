-- Take of keys of which nothing is remembered, the common case: a row is written for each, and nothing is looked for.
-- $1 holder · $2 jobs, or the one job of all · $3 keys · $4 takes, arrays as text, each (job, key) once
-- Returns one row: how many were taken, all of them or, where this worker is not registered, none. A key that has a row is a
-- unique violation: nothing is written then, and take.sql has to sort it out. Rows are written in key order (M30).
-- set_config must be referenced or Postgres leaves it out; a take that a crash undoes is only a hint lost.
with env as materialized (
  select regrow.clock() as at, ($2::text::text[])[1] as job, set_config('synchronous_commit', 'off', true) as quick,
    exists (select 1 from regrow.workers where id = $1::text) as registered
),
taken as (
  insert into regrow.ledger (job, key, holder, take, state, updated_at)
  select coalesce(i.job, env.job), i.key, $1::text, i.take, 'running', env.at
  from unnest($2::text::text[], $3::text::text[], $4::text::int8[]) as i(job, key, take) cross join env
  where env.registered and env.quick = 'off'
  order by i.key collate "C", i.job
  returning 1
)
select count(*)::int as taken from taken
