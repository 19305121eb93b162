-- Explain key: all that regrow's tables know of one key. $1 job · $2 key · $3 lease in ms
-- Returns one row. Index: ledger_pkey, intents_pkey, ledger_suspect, ledger_holder; workers, sweeps and pauses are small.
-- The columns of sweep and pause are those of inspect-jobs.sql.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $3::float8 / 1000) as lease
),
beating as materialized (
  select w.id, w.jobs from regrow.workers w cross join env
  where w.beat_at >= env.at - coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) -- since 9
  where w.beat_at >= env.at - env.lease -- before 9
)
select (extract(epoch from env.at) * 1000)::float8 as at_ms,
  l.state, l.version, l.failures, l.crashes, l.crashes - l.pardoned >= 2 as suspect, l.error, l.solo,
  case when l.updated_at <= env.at + interval '10 seconds' and l.retry_at <= env.at + interval '200 years' then extract(epoch from l.retry_at) * 1000 end::float8 as retry_ms, (extract(epoch from l.updated_at) * 1000)::float8 as updated_ms,
  l.holder is not null as held, w.host, w.pid, (extract(epoch from w.beat_at) * 1000)::float8 as beat_ms,
  case when w.id is not null then exists (select 1 from beating b where b.id = w.id) end as beating, w.stuck,
  (extract(epoch from n.created_at) * 1000)::float8 as created_ms, (extract(epoch from n.run_at) * 1000)::float8 as run_ms,
  (select count(*) from beating)::int as live,
  (select count(*) from beating b where jsonb_exists(b.jobs, $1::text) or $1::text = 'regrow.slots')::int as able,
  (select count(*) from regrow.ledger o join beating b on b.id = o.holder where o.job = $1::text and o.holder is not null)::int as running,
  exists (
    select 1 from regrow.ledger o where o.job = $1::text and o.holder is not null and o.crashes >= 2 and o.crashes - o.pardoned >= 2
      and o.key <> $2::text
  ) as other_suspect,
  (select case when isfinite(u.grace_until) then (extract(epoch from u.grace_until) * 1000)::float8 end from regrow.pulse u) as grace_ms,
  (extract(epoch from s.next_at) * 1000)::float8 as next_ms, coalesce(s.holder is not null and s.until > env.at, false) as sweeping,
  (extract(epoch from s.last_attempt_at) * 1000)::float8 as attempt_ms,
  (extract(epoch from s.last_success_at) * 1000)::float8 as success_ms,
  s.last_error, s.seen::float8 as seen, s.pushed::float8 as pushed, s.held::float8 as held_rows, s.took_ms::float8 as took_ms,
  s.every_ms::float8 as every_ms, s.dropped::float8 as dropped, s.errors, s.heal is not null as healing,
  s.unusable::float8 as unusable, s.unusable_key, -- since 9
  s.pending::float8 as pending, s.pending_estimated, (extract(epoch from s.pending_at) * 1000)::float8 as pending_ms,
  (extract(epoch from s.oldest_at) * 1000)::float8 as oldest_ms, coalesce(greatest(s.no_progress, s.stalled), 0)::float8 as no_progress,
  $1::text as job, p.backlog::float8 as backlog, p.reason, p.author, (extract(epoch from p.since) * 1000)::float8 as since_ms,
  (extract(epoch from p.until) * 1000)::float8 as until_ms
from env
left join regrow.ledger l on l.key = $2::text and l.job = $1::text
left join regrow.workers w on w.id = l.holder
left join regrow.intents n on n.job = $1::text
  and n.id = case when $2::text ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then $2::text::uuid end
left join regrow.sweeps s on s.job = $1::text
left join regrow.pauses p on p.job = $1::text and (p.until is null or p.until > env.at)
