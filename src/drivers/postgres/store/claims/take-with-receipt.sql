-- Take of one key whose hint was taken out of the queue by the statement before it in the same session, if it was there.
-- $1 holder · $2 job · $3 key · $4 take
-- Returns one row: how many were taken, one or none; none also where this worker is not registered, or the ledger remembers
-- something of the key: then take.sql has to sort it out. Whatever the statement before has left is used up.
-- set_config must be referenced or Postgres leaves it out; a take that a crash undoes is only a hint lost.
with env as materialized (
  select regrow.clock() as at, set_config('synchronous_commit', 'off', true) as quick,
    current_setting('regrow.popped', true) as popped,
    exists (select 1 from regrow.workers where id = $1::text) as registered
),
taken as (
  insert into regrow.ledger (job, key, holder, take, state, updated_at)
  select $2::text, $3::text, $1::text, $4::text::int8, 'running', env.at
  from env where env.popped = 'yes' and env.registered and env.quick = 'off'
  on conflict (key, job) do nothing
  returning 1
)
select (select count(*) from taken)::int as taken,
  set_config('regrow.popped', left(env.popped, 0), false) as used from env
