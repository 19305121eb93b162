-- Inspect heals: the last losses of a queue and how each grew back, newest first. $1 how many
-- Index: heals_at.
select h.queue, h.epoch::text as epoch, h.how, h.noticed_by, h.jobs_left, h.pushed::float8 as pushed,
  (extract(epoch from h.at) * 1000)::float8 as lost_ms, (extract(epoch from h.ended_at) * 1000)::float8 as ended_ms
from regrow.heals h order by h.at desc, h.id desc limit $1::int
