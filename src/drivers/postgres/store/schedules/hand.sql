-- Hand: notes what a slot that has begun hands over, in the transaction that does it where there is one.
-- $1 key of the slot · $2 job that gets it · $3 id of the intent, or null · $4 key of the row, or null. Index: slots_open.
update regrow.slots t set handed_job = $2::text, handed_intent = $3::text::uuid, handed_key = $4::text -- since 9
where t.schedule = split_part($1::text, '@', 1) and t.key = $1::text and t.state in ('waiting', 'held') -- since 9
select $1::text, $2::text, $3::text, $4::text where false -- before 9
