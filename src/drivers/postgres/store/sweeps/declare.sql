-- Declare: every job has a sweep row from a worker's first start on; it is due at once.
-- $1 json [{ job, every_ms, fingerprint }] · $2 true: all of them are due · $3 holder, or null · $4 how long a turn lasts without a sign, ms
-- A declaration whose fingerprint the row does not have is new: its pass begins from the beginning, and $3 has the turn until it asks for
-- it, so that it is made with the new pending query. A worker of the deploy before would make it with the old one.
with env as materialized (
  select regrow.clock() as at
),
x as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as x(job text, every_ms int8, fingerprint text)
),
made as (
  insert into regrow.sweeps (job, next_at, every_ms
    , fingerprint -- since 9
  )
  select x.job, env.at, x.every_ms
    , x.fingerprint -- since 9
  from x cross join env order by x.job
  on conflict (job) do nothing
),
known as materialized (
  select s.job, x.every_ms, x.fingerprint
    , x.fingerprint is not null and s.fingerprint is distinct from x.fingerprint as changed -- since 9
    , false as changed -- before 9
  from regrow.sweeps s join x on x.job = s.job
  where s.every_ms is distinct from x.every_ms or $2::boolean
    or (x.fingerprint is not null and s.fingerprint is distinct from x.fingerprint) -- since 9
  order by s.job for update of s
)
update regrow.sweeps s set every_ms = k.every_ms,
  next_at = case when k.changed or $2::boolean then env.at else s.next_at end,
  cursor = case when k.changed then null else s.cursor end,
  term = s.term + case when k.changed then 1 else 0 end,
  holder = case when k.changed then $3::text else s.holder end,
  until = case when not k.changed then s.until when $3::text is not null then env.at + make_interval(secs => $4::float8 / 1000) end,
  last_holder = case when k.changed then null else s.last_holder end,
  pass_seen = case when k.changed then 0 else s.pass_seen end
  , pass_unusable = case when k.changed then 0 else s.pass_unusable end -- since 9
  , fingerprint = coalesce(k.fingerprint, s.fingerprint) -- since 9
from known k cross join env where s.job = k.job
