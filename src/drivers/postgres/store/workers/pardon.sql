-- Pardon: a key was caught crashing alone, so those that died with it before are no longer suspects for that.
-- $1 json [the holder they died with]
-- Returns the (job, key) pardoned. Index: ledger_crash. Rows that are locked stay suspects, so their order is free.
with neighbours as materialized (
  select n.job, n.key from jsonb_array_elements_text($1::text::jsonb) as c(crash_of)
  cross join lateral (
    select l.job, l.key from regrow.ledger l
    where l.crash_of = c.crash_of and l.holder is null and l.state <> 'quarantined' and l.solo_crashes = 0
    for update skip locked
  ) n
)
update regrow.ledger l set pardoned = l.pardoned + 1, crash_of = null
-- As arrays, for the plan: see free.sql.
from unnest((select array_agg(job) from neighbours), (select array_agg(key) from neighbours)) as f(job, key)
where l.key = f.key and l.job = f.job
returning l.job, l.key
