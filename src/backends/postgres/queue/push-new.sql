-- Push, the quickest way: due fresh hints of one job whose lane is known to have room, and where hardly one of them is there.
-- $1 job · $2 keys as text of an array, each once and one at least · $3 what NOTIFY tells: see payloadOf in bell.ts
-- Returns nothing of use. Index: hints_key. Nothing is looked for, and so nothing has to be counted: a key that is there is a unique
-- violation, nothing is written or told then, and push-lane.sql has to sort it out. Rows are written in key order (M30).
with put as (
  insert into regrow.hints (job, key, due_at, fresh)
  select $1::text, k.key, (select regrow.clock()), true
  from unnest($2::text::text[]) as k(key) order by k.key collate "C"
)
select pg_notify('regrow_hints', $3::text)::text as told
