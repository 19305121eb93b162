-- Take: puts holder and take number on popped keys.
-- $1 holder · $2 json [{ job, key, take }], each (job, key) once
-- Returns one row per key: verdict, wait_ms, failures, crashes.
-- Rows are written in key order, so concurrent takes cannot deadlock (M30). A key that is refused though the snapshot
-- shows it free was changed by somebody just now: 'live'. A holder that was declared dead takes nothing.
with input as materialized (
  select job, key, take from jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
),
env as materialized (select regrow.clock() as at),
taken as (
  insert into regrow.ledger as l (job, key, holder, take, state)
  select job, key, $1::text, take, 'running' from input
  where exists (select 1 from regrow.workers where id = $1::text)
  order by key collate "C", job
  on conflict (key, job) do update set holder = excluded.holder, take = excluded.take, state = 'running'
    where l.holder is null and l.state <> 'quarantined' and (l.retry_at is null or l.retry_at <= (select at from env))
  returning l.job, l.key, l.failures, l.crashes
)
select i.key,
  case when t.key is not null then 'taken'
    when l.state = 'quarantined' then 'quarantined'
    when l.holder is null and l.retry_at > env.at then 'later'
    else 'live' end as verdict,
  coalesce(extract(epoch from l.retry_at - env.at) * 1000, 0)::float8 as wait_ms,
  coalesce(t.failures, 0) as failures, coalesce(t.crashes, 0) as crashes
from input i cross join env
left join taken t on t.key = i.key and t.job = i.job
left join regrow.ledger l on l.key = i.key and l.job = i.job
