-- Slots of a schedule, newest first.
-- $1 schedule · $2 so many at most. Index: slots_pkey, backwards; ledger_pkey and intents_pkey for what they handed over: the key of a row is
-- 'unknown' where the ledger remembers nothing of it, for only its job's query knows.
select
  coalesce(t.handed_intent::text, t.handed_key) as handed_key, t.handed_job, -- since 9
  case -- since 9
    when t.handed_job is null then null -- since 9
    when t.reason = 'dropped' then 'dropped' -- since 9
    else coalesce(( -- since 9
      select case when l.holder is not null then 'running' when l.state = 'quarantined' then l.state else 'retrying' end -- since 9
      from regrow.ledger l where l.key = coalesce(t.handed_intent::text, t.handed_key) and l.job = t.handed_job -- since 9
    ), case when t.handed_intent is null then 'unknown' -- since 9
      when exists (select 1 from regrow.intents n where n.id = t.handed_intent) then 'pending' else 'done' end) -- since 9
  end as handed_state, -- since 9
  null as handed_key, null as handed_job, null as handed_state, -- before 9
  (extract(epoch from t.slot) * 1000)::float8 as slot_ms, (extract(epoch from t.due_at) * 1000)::float8 as due_ms, t.key,
  case t.state when 'held' then 'waiting' else t.state end as state, t.reason, (extract(epoch from t.through) * 1000)::float8 as through_ms,
  t.count, (extract(epoch from t.begun_at) * 1000)::float8 as begun_ms, (extract(epoch from t.ended_at) * 1000)::float8 as ended_ms
from regrow.slots t where t.schedule = $1::text order by t.slot desc limit $2::int
