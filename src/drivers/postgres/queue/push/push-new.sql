-- Push, the quickest way: due fresh hints of one job whose lane is known to have room, and where hardly one of them is there.
-- $1 job · $2 keys, each once and one at least, in one text, divided by U+001E, in key order · $3 what NOTIFY tells: see payloadOf in bell.ts
-- Returns nothing of use. Index: hints_key. Nothing is looked for, and so nothing has to be counted: a key that is there is a unique
-- violation, nothing is written or told then, and push-lane.sql has to sort it out.
-- Rows are written in the order in which keys are given, which is theirs (M30): a sort here took a tenth of the whole.
with put as (
  insert into regrow.hints (job, key, due_at, fresh)
  select $1::text, unnest(string_to_array($2::text, chr(30))), (select regrow.clock()), true
)
select pg_notify('regrow_hints', $3::text)::text as told
