-- Count: due and delayed hints of jobs. $1 json [job]. Index: hints_due, job by job.
select w.job, c.due, c.delayed
from jsonb_array_elements_text($1::text::jsonb) as w(job)
cross join (select regrow.clock() as at) env
cross join lateral (
  select (count(*) filter (where h.due_at <= env.at))::int as due, (count(*) filter (where h.due_at > env.at))::int as delayed
  from regrow.hints h where h.job = w.job
) c
