-- End of a turn: what it found, and when the next one is due.
-- $1 job · $2 holder · $3 term · $4 json { cursor, next_ms, error, seen, pushed, held, took_ms, audited }
-- A sweep that was made due while the pass ran stays due, and begins anew.
update regrow.sweeps s
set holder = null, until = null, last_holder = $2::text,
  cursor = case when s.next_at > s.last_attempt_at then null else x.cursor end,
  next_at = case when s.next_at > s.last_attempt_at then s.next_at
    else regrow.clock() + make_interval(secs => x.next_ms / 1000) end,
  last_success_at = case when x.error is null then regrow.clock() else s.last_success_at end,
  audited_at = case when x.audited then regrow.clock() else s.audited_at end, -- since 3
  last_error = x.error, seen = x.seen, pushed = x.pushed, held = x.held, took_ms = x.took_ms
from jsonb_to_record($4::text::jsonb) as x(cursor text, next_ms float8, error text, seen int8, pushed int8, held int8, took_ms int8, audited boolean)
where s.job = $1::text and s.holder = $2::text and s.term = $3::int8
returning s.job
