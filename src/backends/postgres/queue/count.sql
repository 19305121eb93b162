-- Count: due and delayed hints of jobs. $1 json [job]
select w.job, count(h.key) filter (where h.due_at <= env.at)::int as due, count(h.key) filter (where h.due_at > env.at)::int as delayed
from jsonb_array_elements_text($1::text::jsonb) as w(job)
cross join (select regrow.clock() as at) env
left join regrow.hints h on h.job = w.job
group by w.job
