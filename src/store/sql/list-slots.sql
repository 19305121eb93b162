-- Slots of a schedule, newest first.
-- $1 schedule · $2 so many at most. Index: slots_pkey, backwards.
select (extract(epoch from t.slot) * 1000)::float8 as slot_ms, (extract(epoch from t.due_at) * 1000)::float8 as due_ms, t.key,
  case t.state when 'held' then 'waiting' else t.state end as state, t.reason, (extract(epoch from t.through) * 1000)::float8 as through_ms,
  t.count, (extract(epoch from t.begun_at) * 1000)::float8 as begun_ms, (extract(epoch from t.ended_at) * 1000)::float8 as ended_ms
from regrow.slots t where t.schedule = $1::text order by t.slot desc limit $2::int
