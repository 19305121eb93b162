-- Raises the store's copy after the queue's mark was changed; of this epoch only, and never lower (S17).
-- $1 queue · $2 epoch · $3 sequence
-- Needs no fsync: after a crash the copy is behind the queue, and that is no loss.
with quick as materialized (
  select set_config('synchronous_commit', 'off', true) as quick
)
update regrow.marks m set sequence = $3::text::int8 from quick
where m.queue = $1::text and m.epoch = $2::text::int8 and m.sequence < $3::text::int8 and quick.quick = 'off'
