-- Free: ends the claims and sweep turns of holders that no longer live. Nothing happens before grace_until,
-- nor while nobody beats: a free that comes before the first beat after an outage would find everybody dead (M43).
-- $1 lease in ms, of workers whose row has none; negative: every holder is dead (a store that only one process can open)
-- Each worker is judged by the lease in its row. A beat from a clock that is set back since counts as one of now: it keeps its worker
-- for a lease, and not for as long as the clock was ahead (L10).
-- Returns (job, key, crashes, state, why, crash_of) of keys that were freed, and how many worker rows were removed on each.
-- Crashes: the first is free, from the second on a key is a suspect; crashes while it ran alone are surely its own, three of
-- them quarantine it. One that only waited to run alone is not counted.
-- What was taken has waited: a retry_at that is ahead again is of a clock that was set back meanwhile, and is over (L10).
-- Claims of a holder without a worker row are freed too: its take may have committed after its row was removed.
-- Such holders are listed first: a row that changed hands since the snapshot is looked at again, and against the workers
-- of the snapshot a holder who registered after it would look like nobody. They are looked for between the living, never
-- among them: the entries of a busy holder are mostly of claims that are over, and as many as were settled since a vacuum.
-- The limits are for the planner: a guess of millions made this worth compiling (JIT, 200 ms each second). What is over them
-- has no worker any more, and is found the next time. 'zzzz' comes after every holder. Index: ledger_taken, one range per
-- worker, as this runs every second beside a ledger that may be all back-off. Rows are skipped when locked, so their order is
-- free.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $1::float8 / 1000) as lease, $1::float8 < 0 as all_dead
),
open as materialized (
  select p.beat_at from env left join regrow.pulse p on true
  where env.all_dead or (env.at >= p.grace_until and p.beat_at >= env.at - env.lease / 2)
),
leases as materialized (
  select w.id
    , coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) as lease -- since 9
    , env.lease -- before 9
  from regrow.workers w cross join env
),
dead as materialized (
  select w.id from regrow.workers w join leases l on l.id = w.id cross join env cross join open
  where env.all_dead or (w.beat_at < env.at - l.lease and open.beat_at >= env.at - l.lease / 2)
  order by w.id
  for update of w skip locked
),
ahead as (
  update regrow.workers w set beat_at = env.at
  from env where w.id in (
    select f.id from regrow.workers f where f.beat_at > (select at from env) + interval '10 seconds' order by f.id for update skip locked
  )
),
removed as (
  delete from regrow.workers w using dead where w.id = dead.id
),
turns as (
  update regrow.sweeps s set holder = null, until = null
  where s.holder in (select id from dead) or (s.holder is not null and (select all_dead from env))
),
gaps as materialized (
  select id as after, coalesce(lead(id) over (order by id), 'zzzz') as before
  from (select id from regrow.workers union all select '') w
  where exists (select 1 from open)
),
holders as materialized (
  select h.holder from gaps g cross join lateral (
    select distinct l.holder from regrow.ledger l where l.holder > g.after and l.holder < g.before limit 20
  ) h
  limit 20
),
lost as materialized (
  select c.* from (
    select id from (
      select id from dead
      union
      select h.holder from holders h
    ) every limit 20
  ) d
  cross join lateral (
    select l.job, l.key, l.holder, l.solo
      , not l.solo and l.crashes - l.pardoned >= 2 as waited
    from regrow.ledger l where l.holder = d.id limit 5000 for update skip locked
  ) c
),
freed as (
  update regrow.ledger l
  set holder = null, take = null, solo = false, updated_at = env.at,
    crashes = l.crashes + case when f.waited then 0 else 1 end,
    solo_crashes = l.solo_crashes + case when f.solo then 1 else 0 end,
    crash_of = case when f.solo or f.waited then l.crash_of else f.holder end,
    state = case when f.solo and l.solo_crashes >= 2 then 'quarantined' else 'retrying' end,
    error = case when f.solo then 'The process died while this key ran alone, ' || l.solo_crashes + 1 || ' of 3 times' else l.error end,
    retry_at = case when f.solo then env.at + make_interval(secs => 2 ^ (l.solo_crashes + 1)) when l.retry_at > env.at then env.at else l.retry_at end
  -- As arrays, because the planner takes those for short and goes by key; joined with `lost` it read the whole ledger.
  from env cross join unnest(
    (select array_agg(job) from lost), (select array_agg(key) from lost), (select array_agg(holder) from lost),
    (select array_agg(solo) from lost), (select array_agg(waited) from lost)
  ) as f(job, key, holder, solo, waited)
  where l.key = f.key and l.job = f.job
  returning l.job, l.key, l.crashes, l.state, case when f.solo then 'alone' when f.waited then 'waited' else 'crashed' end as why
    , case when f.solo then l.crash_of end as crash_of
)
select freed.*, (select count(*) from dead)::int as workers from freed
union all
select null, null, null, null, null, null, (select count(*) from dead)::int where not exists (select 1 from lost)
