-- Inspect queues: those that the store has a mark of, the one that was looked at last first. $1 how many
select queue, (extract(epoch from bumped_at) * 1000)::float8 as looked_ms from regrow.marks order by bumped_at desc, queue limit $1::int
