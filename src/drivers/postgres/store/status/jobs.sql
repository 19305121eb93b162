-- Inspect jobs: how each job stands that one of regrow's tables names. $1 lease in ms
-- Returns at_ms and the pulse (missing, set_back_at_ms and by how much) on every row, and one row at least: job is null when no table names any.
-- Reads ledger and intents whole: for a person, not for a loop.
-- no_progress: keys that failed because their row stayed pending, and runs of which no version tells, in the present pass or
-- the one before, whichever are more: a row that never changes runs once in each. Errors that are stored out of line are none
-- of these, and are not fetched. A claim whose worker's row is gone is without an owner since that row was deleted, which
-- nobody wrote down: since the claim's last change, then.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $1::float8 / 1000) as lease
),
fleet as materialized (
  select w.id, w.jobs, w.beat_at, env.at - w.beat_at <= coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) as live -- since 9
  select w.id, w.jobs, w.beat_at, env.at - w.beat_at <= env.lease as live -- before 9
  from regrow.workers w cross join env
),
ledger as materialized (
  select l.job, count(*) filter (where l.state = 'running') as running, count(*) filter (where l.state = 'retrying') as retrying,
    count(*) filter (where l.state = 'quarantined') as quarantined,
    count(*) filter (where case when pg_column_size(l.error) < 2000
      then l.error like 'It ran and returned, but the row is still pending%' end) as no_progress,
    count(*) filter (where l.holder is not null and o.since is not null) as unowned,
    min(o.since) filter (where l.holder is not null) as unowned_since
  from regrow.ledger l left join fleet w on w.id = l.holder
  cross join lateral (
    select case when w.id is null then l.updated_at when not w.live then w.beat_at end as since
  ) o
  group by l.job
),
intents as materialized (
  select job, count(*) as waiting from regrow.intents group by job
),
handled as materialized (
  select x.job, count(*) filter (where w.live) as workers
  from fleet w cross join lateral jsonb_object_keys(w.jobs) as x(job) group by x.job
),
paused as materialized (
  select p.* from regrow.pauses p cross join env where p.until is null or p.until > env.at
),
named as (
  select job from regrow.sweeps union select job from ledger union select job from intents
  union select job from handled union select job from paused
)
select (extract(epoch from env.at) * 1000)::float8 as at_ms, u.one is null as pulse_missing,
  (extract(epoch from u.set_back_at) * 1000)::float8 as set_back_at_ms, u.set_back_ms::float8 as set_back_ms, -- since 9
  named.job,
  coalesce(l.running, 0)::int as running, coalesce(l.retrying, 0)::int as retrying,
  coalesce(l.quarantined, 0)::int as quarantined, coalesce(n.waiting, 0)::int as intents,
  -- Slots that hand over are every worker's, and no worker names them.
  case when named.job = 'regrow.slots' then (select count(*) from fleet w where w.live)
    else coalesce(h.workers, 0) end::int as workers, coalesce(l.unowned, 0)::int as unowned,
  (extract(epoch from l.unowned_since) * 1000)::float8 as unowned_ms,
  (coalesce(l.no_progress, 0) + coalesce(greatest(s.no_progress, s.stalled), 0))::int as no_progress,
  d.value::float8 as drained_ms,
  (extract(epoch from s.next_at) * 1000)::float8 as next_ms, coalesce(s.holder is not null and s.until > env.at, false) as sweeping,
  (extract(epoch from s.last_attempt_at) * 1000)::float8 as attempt_ms,
  (extract(epoch from s.last_success_at) * 1000)::float8 as success_ms,
  s.last_error, s.seen::float8 as seen, s.pushed::float8 as pushed, s.held::float8 as held, s.took_ms::float8 as took_ms,
  s.every_ms::float8 as every_ms, s.dropped::float8 as dropped, s.errors, s.heal is not null as healing,
  s.unusable::float8 as unusable, s.unusable_key, -- since 9
  s.pending::float8 as pending, s.pending_estimated, (extract(epoch from s.pending_at) * 1000)::float8 as pending_ms,
  (extract(epoch from s.oldest_at) * 1000)::float8 as oldest_ms, p.backlog::float8 as backlog,
  p.reason, p.author, (extract(epoch from p.since) * 1000)::float8 as since_ms,
  (extract(epoch from p.until) * 1000)::float8 as until_ms
from env left join named on true left join regrow.pulse u on true
left join ledger l on l.job = named.job
left join intents n on n.job = named.job
left join handled h on h.job = named.job
left join regrow.sweeps s on s.job = named.job
left join paused p on p.job = named.job
left join regrow.meta d on d.name = 'drained ' || named.job
order by named.job
