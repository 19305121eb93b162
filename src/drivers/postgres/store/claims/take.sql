-- Take: puts holder and take number on popped keys.
-- $1 holder · $2 true: a suspect, for a run of its own · $3 jobs, or the one job of all · $4 keys · $5 takes, arrays as text,
--   each (job, key) once
-- Returns one row: `plain`, the takes of keys that were granted and of which nothing is remembered, and `others`, json
--   [[take, verdict, wait_ms, failures, crashes, version, together]]. Most keys are plain: as rows they cost more than the insert.
-- Index: ledger_pkey (key, job). Rows are written in key order, so concurrent takes cannot deadlock (M30).
-- A key that crashed twice is a suspect: only a take for a run of its own gets it, and only when no other process has
-- one of that job (index ledger_suspect). That is a first look; `alone` decides.
-- A row that was written by a clock that is set back since waits no longer, nor one without an end (L10).
-- A refused key whose row the snapshot does not show as refused was changed by somebody just now: 'running'.
-- set_config must be referenced or Postgres leaves it out; a take that a crash undoes is only a hint lost.
with input as materialized (
  select coalesce(x.job, (select ($3::text::text[])[1])) as job, x.key, x.take
  from unnest($3::text::text[], $4::text::text[], $5::text::int8[]) as x(job, key, take)
),
env as materialized (
  select regrow.clock() as at,
    set_config('synchronous_commit', 'off', true) as quick,
    exists (select 1 from regrow.workers where id = $1::text) as registered,
    $2::boolean and exists (
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
    set holder = excluded.holder, take = excluded.take, state = 'running', solo = false,
      retry_at = case when l.retry_at > excluded.updated_at then excluded.updated_at else l.retry_at end
    where l.holder is null and l.state <> 'quarantined' and (l.retry_at is null or l.retry_at <= regrow.clock() or l.updated_at > regrow.clock() + interval '10 seconds' or l.retry_at > regrow.clock() + interval '200 years')
      and ($2::boolean or l.crashes - l.pardoned < 2)
  returning l.take, l.failures, l.crashes, l.version, l.together,
    l.failures = 0 and l.crashes = 0 and l.version is null and l.together is null as plain
),
refused as materialized (
  select i.take, env.registered, env.at, b.* from input i
  cross join env
  left join lateral (
    select l.holder, l.state, case when l.updated_at <= env.at + interval '10 seconds' and l.retry_at <= env.at + interval '200 years' then l.retry_at end as retry_at, l.failures, l.crashes, l.version, l.crashes - l.pardoned >= 2 as suspect
    from regrow.ledger l where l.key = i.key and l.job = i.job offset 0
  ) b on true
  where i.take not in (select take from taken)
)
select (select string_agg(take::text, ',') from taken where plain) as plain,
  (select json_agg(json_build_array(take, verdict, wait_ms, failures, crashes, version, together)) from (
    select take, 'taken' as verdict, 0::float8 as wait_ms, failures, crashes, version, together from taken where not plain
    union all
    select take,
      case
        when not registered then 'lease_lost'
        when state = 'quarantined' then 'quarantined'
        when holder is null and retry_at > at then 'not_due'
        when holder is null and suspect then 'suspect'
        else 'running'
      end,
      coalesce(extract(epoch from retry_at - at) * 1000, 0)::float8, coalesce(failures, 0), coalesce(crashes, 0), version, null
    from refused
  ) o)::text as others
