-- Finish: deletes intents whose work is done, outside of the ledger (`guard: 'none'`).
-- $1 json [id]. Rows are locked in key order, so that two who finish the same ones cannot deadlock (M30). Index: intents_pkey.
with gone as materialized (
  select n.id from jsonb_array_elements_text($1::text::jsonb) as x(id)
  join regrow.intents n on n.id = x.id::uuid
  order by n.id for update of n
)
delete from regrow.intents n using gone where n.id = gone.id
