-- Alone: a suspect begins a run of its own; from now on a crash is its own. One per job at a time over the fleet.
-- $1 job · $2 key · $3 holder · $4 take
-- Returns the key when it may begin. Of two that ask at once the index ledger_solo refuses one (23505).
update regrow.ledger l set solo = true
where l.key = $2::text and l.job = $1::text and l.holder = $3::text and l.take = $4::int8
  and not exists (select 1 from regrow.ledger o where o.holder is not null and o.solo and o.job = $1::text)
returning l.key
