-- Writes the canary, whatever was there before, for a queue that was lost or is new. $1 epoch · $2 sequence
-- Hints that are not due yet go: they may be of a clock that is set back since (L10), and those that are meant come back with the others.
with ahead as (
  delete from regrow.hints where due_at > (select regrow.clock())
)
insert into regrow.canary (epoch, sequence) values ($1::text::int8, $2::text::int8)
on conflict (one) do update set epoch = excluded.epoch, sequence = excluded.sequence
