-- Peek: which of these keys have a hint, in which lane, and how long until it is due. $1 job · $2 keys, an array as text
-- Returns one row per hint. Index: hints_key, one probe per key, as in push-lane.sql.
select k.key, h.fresh, greatest(0, extract(epoch from h.due_at - env.at) * 1000)::float8 as due_ms
from unnest($2::text::text[]) as k(key)
cross join (select regrow.clock() as at) env
cross join lateral (
  select h.fresh, h.due_at from regrow.hints h
  where octet_length(h.key) = octet_length(k.key) and h.key = k.key and h.job is not distinct from $1::text offset 0
) h
