-- Turn: one pass per job at a time over the fleet, by compare-and-set (S10); no row for a job means "not mine".
-- $1 holder · $2 json [job] · $3 how long a turn lasts without a sign, ms
-- A turn that gave no sign, or whose holder was freed, is anybody's; so only the registered win one.
insert into regrow.sweeps as s (job, holder, term, until)
select job, $1::text, 1, regrow.clock() + make_interval(secs => $3::float8 / 1000)
from jsonb_array_elements_text($2::text::jsonb) as x(job)
where exists (select 1 from regrow.workers where id = $1::text) order by job
on conflict (job) do update set holder = excluded.holder, term = s.term + 1, until = excluded.until
  where s.until <= regrow.clock() or s.holder not in (select id from regrow.workers)
returning s.job, s.term::text as term, s.cursor
