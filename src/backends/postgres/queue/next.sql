-- Next: how long until a delayed hint of these jobs comes due, in ms; null when there is none. $1 json [job]
select extract(epoch from min(n.due_at) - (select regrow.clock()))::float8 * 1000 as wait_ms
from jsonb_array_elements_text($1::text::jsonb) as w(job)
cross join (values (true), (false)) as lane(fresh)
cross join lateral (
  select h.due_at from regrow.hints h where h.job = w.job and h.fresh = lane.fresh order by h.due_at limit 1
) n
