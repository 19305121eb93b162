-- Finish: records slots as run, outside of the ledger (`guard: 'none'`), or as skipped by who was about to run them.
-- $1 json [key] · $2 why they were skipped; null: they ran. Rows are locked in key order (M30). Index: slots_waiting is by lane, so the open slots are asked by key.
with run as materialized (
  select t.schedule, t.slot from jsonb_array_elements_text($1::text::jsonb) as x(key)
  join regrow.slots t on t.schedule = split_part(x.key, '@', 1) and t.state in ('waiting', 'held') and t.key = x.key
  order by t.schedule, t.slot for update of t
)
update regrow.slots t set state = case when $2::text is null then 'ran' else 'skipped' end, reason = $2::text, ended_at = regrow.clock() from run where t.schedule = run.schedule and t.slot = run.slot
