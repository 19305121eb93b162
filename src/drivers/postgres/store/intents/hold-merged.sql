-- Hold merged: until this transaction ends, intents that its inputs were merged into do not start: a run that began before the commit
-- would not see what the transaction wrote.
-- $1 job · $2 ids, an array as text. Returns those that have not started. Rows are locked in key order (M30); transactions that merge
-- into the same intent do not wait for each other. Index: intents_pkey.
select n.id::text as id from regrow.intents n
where n.id = any ($2::text::uuid[]) and n.job = $1::text and n.unique_key is not null
order by n.id for share
