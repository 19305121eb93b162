-- Push, the quickest way: due fresh hints of one job whose lane is known to have room, and where hardly one of them is there.
-- $1 job · $2 keys as text of an array, each once
-- Returns one row: added. One hint alone is told by name, so that who hears of it need not look: where its key is a number or a
-- uuid, since every role of the database may listen. Index: hints_key. Nothing is looked for: a key that is there is a unique violation, nothing is
-- written then, and push-lane.sql has to sort it out. Rows are written in key order (M30).
with put as (
  insert into regrow.hints (job, key, due_at, fresh)
  select $1::text, k.key, (select regrow.clock()), true
  from unnest($2::text::text[]) as k(key) order by k.key collate "C"
  returning key
),
added as materialized (
  select count(*)::int as count, min(key) as key from put
)
select count as added, case when count > 0 then pg_notify('regrow_hints',
    $1::text || case when count = 1 and key ~ '^(-?[0-9]{1,19}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$' then chr(31) || key else '' end
  )::text end as told from added
