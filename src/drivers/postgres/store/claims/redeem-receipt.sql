-- Pop of the one hint that a push has just told by name. It travels right before the take of its key (src/drivers/postgres/store/claims/take-with-receipt.sql), as
-- a transaction of its own, and leaves word of what it found in the session: only who took the hint out takes the key.
-- $1 job · $2 key
-- Returns one row: whether it was there, fresh and due. Index: hints_key.
-- Not SKIP LOCKED: whoever has it locked takes it out, and is done with that in a moment.
with gone as (
  delete from regrow.hints h
  where octet_length(h.key) = octet_length($2::text) and h.key = $2::text and h.job is not distinct from $1::text
    and h.fresh and h.due_at <= (select regrow.clock())
  returning 1
)
select set_config('regrow.popped', case when exists (select 1 from gone) then 'yes' else 'no' end, false) = 'yes' as popped
