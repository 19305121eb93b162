-- Take: puts holder and take number on popped keys.
-- $1 holder · $2 json [{ job, key, take }], each (job, key) once · $3 true: a suspect, for a run of its own
-- Returns one row per key: verdict, wait_ms, failures, crashes, version, together.
-- Index: ledger_pkey (key, job). Rows are written in key order, so concurrent takes cannot deadlock (M30).
-- A key that crashed twice is a suspect: only a take for a run of its own gets it, and only when no other process has
-- one of that job (index ledger_suspect). That is a first look; `alone` decides.
-- A refused key whose row the snapshot does not show as refused was changed by somebody just now: 'live'.
-- set_config must be referenced or Postgres leaves it out; a take that a crash undoes is only a hint lost.
with input as materialized (
  select job, key, take from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
),
env as materialized (
  select regrow.clock() as at,
    set_config('synchronous_commit', 'off', true) as quick,
    exists (select 1 from regrow.workers where id = $1::text) as registered,
    $3::boolean and exists (
      select 1 from regrow.ledger o where o.job = any (array(select job from input)) and o.holder is not null and o.crashes >= 2
        and o.crashes - o.pardoned >= 2
    ) as occupied
),
taken as (
  insert into regrow.ledger as l (job, key, holder, take, state, updated_at)
  select i.job, i.key, $1::text, i.take, 'running', env.at from input i cross join env
  where env.registered and env.quick = 'off' and not env.occupied
  order by i.key collate "C", i.job
  on conflict (key, job) do update
    set holder = excluded.holder, take = excluded.take, state = 'running', solo = false
    where l.holder is null and l.state <> 'quarantined' and (l.retry_at is null or l.retry_at <= regrow.clock())
      and ($3::boolean or l.crashes - l.pardoned < 2)
  returning l.job, l.key, l.failures, l.crashes, l.version
    , l.together
)
select i.job, i.key,
  case
    when t.key is not null then 'taken'
    when not env.registered then 'gone'
    when b.state = 'quarantined' then 'quarantined'
    when b.holder is null and b.retry_at > env.at then 'later'
    when b.holder is null and b.suspect then 'suspect'
    else 'live'
  end as verdict,
  coalesce(extract(epoch from b.retry_at - env.at) * 1000, 0)::float8 as wait_ms,
  coalesce(t.failures, b.failures, 0) as failures,
  coalesce(t.crashes, b.crashes, 0) as crashes,
  coalesce(t.version, b.version) as version,
  t.together
from input i
cross join env
left join taken t on t.key = i.key and t.job = i.job
left join lateral (
  select l.holder, l.state, l.retry_at, l.failures, l.crashes, l.version
    , l.crashes - l.pardoned >= 2 as suspect
  from regrow.ledger l where l.key = i.key and l.job = i.job offset 0
) b on true
