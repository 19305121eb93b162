-- Declare: every job has a sweep row from the first start on; it is due at once. $1 json [job]
insert into regrow.sweeps (job, next_at)
select job, regrow.clock() from jsonb_array_elements_text($1::text::jsonb) as x(job) order by job
on conflict (job) do nothing
