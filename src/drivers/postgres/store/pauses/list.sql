-- List pauses: those that hold now.
select p.job, p.reason, p.author, (extract(epoch from p.since) * 1000)::float8 as since_ms,
  (extract(epoch from p.until) * 1000)::float8 as until_ms
  , p.backlog::float8 as backlog
from regrow.pauses p cross join (select regrow.clock() as at) env
where p.until is null or p.until > env.at
order by p.job
