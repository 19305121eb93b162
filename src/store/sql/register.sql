-- Register: a worker appears under a new identity.
-- $1 holder · $2 host · $3 pid · $4 json of its jobs · $5 lease in ms
with pulse as (
  update regrow.pulse p
  set grace_until = case when p.beat_at < t.at - t.lease / 2 then t.at + t.lease else p.grace_until end, beat_at = t.at
  from (select regrow.clock() as at, make_interval(secs => $5::float8 / 1000) as lease) t
)
insert into regrow.workers (id, host, pid, jobs, started_at, beat_at)
values ($1::text, $2::text, $3::int, $4::text::jsonb, regrow.clock(), regrow.clock())
on conflict (id) do nothing
