-- Drop: deletes the intents of quarantined keys, or skips their slots, and forgets what the ledger knows of them. A person's act: it
-- is in the audit.
-- $1 job · $2 json [key], each once · $3 author
-- Returns one row per key: 'dropped', 'not_quarantined', 'row' (its work is a row of the user's), or 'kept'.
-- All or nothing: one key whose work is a row of the user's keeps the others. Ledger before intents and slots, as in the settle.
with asked as materialized (
  select key from jsonb_array_elements_text($2::text::jsonb) as x(key)
),
held as materialized (
  select i.key, h.failures, h.crashes, h.error from (select key from asked order by key collate "C") i
  cross join lateral (
    select l.failures, l.crashes, l.error from regrow.ledger l
    where l.key = i.key and l.job = $1::text and l.state = 'quarantined' and l.holder is null
    for update
  ) h
),
found as materialized (
  select h.*, n.id
    , n.id is not null or t.key is not null as own
  from held h left join regrow.intents n on n.job = $1::text
    and n.id = case when h.key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then h.key::uuid end
  left join regrow.slots t on t.lane = $1::text and t.key = h.key and t.state = 'waiting'
),
doomed as materialized (
  select * from found where not exists (select 1 from found where not own)
),
gone as (
  delete from regrow.ledger l using doomed d where l.key = d.key and l.job = $1::text
),
unmade as (
  delete from regrow.intents n using doomed d where n.id = d.id
),
lost as ( -- since 9
  update regrow.slots t set reason = 'dropped' from doomed d where t.handed_intent = d.id -- since 9
), -- since 9
skipped as (
  update regrow.slots t set state = 'skipped', reason = 'dropped', ended_at = regrow.clock()
  from doomed d where t.lane = $1::text and t.key = d.key and t.state = 'waiting'
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select regrow.clock(), $3::text, 'quarantine.drop', $1::text,
    json_build_object('key', key, 'failures', failures, 'crashes', crashes, 'error', left(error, 300))::text
  from doomed
)
select a.key,
  case when d.key is not null then 'dropped' when f.key is null then 'not_quarantined'
    when not f.own then 'row' else 'kept' end as verdict
from asked a left join found f on f.key = a.key left join doomed d on d.key = a.key
