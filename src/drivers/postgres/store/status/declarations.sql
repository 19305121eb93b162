-- Examine declarations: what each live worker declares, oldest first. $1 lease in ms
select w.host, w.pid, (extract(epoch from w.started_at) * 1000)::float8 as started_ms, w.jobs::text as jobs
from regrow.workers w
where w.beat_at >= (select regrow.clock()) - make_interval(secs => coalesce(w.lease_ms, $1::float8) / 1000) -- since 9
where w.beat_at >= (select regrow.clock()) - make_interval(secs => $1::float8 / 1000) -- before 9
order by w.started_at, w.id
