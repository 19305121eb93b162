-- Take of keys of one job of which nothing is remembered, the common case: a row is written for each, and nothing is looked for.
-- $1 holder · $2 job · $3 keys, each once, in their order, in one text, divided by U+001E · $4 the take of the first key; the others'
--   follow it one by one
-- Returns one row: how many were taken, all of them or, where this worker is not registered, none. A key that has a row is a
-- unique violation: nothing is written then, and take.sql has to sort it out. Rows are written as they come: in key order (M30).
-- set_config must be referenced or Postgres leaves it out; a take that a crash undoes is only a hint lost.
with env as materialized (
  select regrow.clock() as at, set_config('synchronous_commit', 'off', true) as quick,
    exists (select 1 from regrow.workers where id = $1::text) as registered
),
taken as (
  insert into regrow.ledger (job, key, holder, take, state, updated_at)
  select $2::text, i.key, $1::text, $4::text::int8 - 1 + i.place, 'running', env.at
  from unnest(string_to_array($3::text, chr(30))) with ordinality as i(key, place) cross join env
  where env.registered and env.quick = 'off'
  returning 1
)
select count(*)::int as taken from taken
