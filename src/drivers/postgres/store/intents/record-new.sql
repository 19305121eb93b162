-- Record new: intents whose ids were made for them, without unique keys: nothing can be there before them.
-- $1 job · $2 ids · $3 inputs as JSON · $4 in_ms, from the store's clock · $5 at_ms, an epoch; null, or empty for a row: none.
-- Lists are one text each, divided by U+001E, which no JSON holds: half the cost of taking JSON of JSON apart.
-- Returns one row: whether the job is paused, and the store's clock as an epoch in ms. Not `on conflict`: that costs as much
-- again as the insert. Where an id is taken after all (23505) nothing is written, and record-intents.sql has to sort it out.
with env as materialized (
  select regrow.clock() as at
),
added as (
  insert into regrow.intents (id, job, input, run_at, created_at)
  select x.id::uuid, $1::text, x.input::jsonb,
    case when x.at_ms is not null then to_timestamp(x.at_ms::float8 / 1000)
      when x.in_ms is not null then env.at + make_interval(secs => x.in_ms::float8 / 1000) end,
    env.at
  from unnest(string_to_array($2::text, chr(30)), string_to_array($3::text, chr(30)),
    string_to_array($4::text, chr(30), ''), string_to_array($5::text, chr(30), '')) as x(id, input, in_ms, at_ms)
  cross join env
)
select exists (select 1 from regrow.pauses p where p.job = $1::text and (p.until is null or p.until > (select at from env))) as paused,
  (select extract(epoch from at) * 1000 from env)::float8 as at_ms
