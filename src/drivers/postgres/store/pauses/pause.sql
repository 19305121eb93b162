-- Pause: stops hints and starts of a job. A person's act: it is in the audit. Durable when it is told.
-- $1 job · $2 reason · $3 author · $4 for how long, ms; null: until it is resumed
-- Returns the pause as it holds now. One that holds keeps its beginning; one that is over begins anew. A pass under way
-- loses its turn: it would go on pushing hints; the next one only counts what waits.
-- The sweep's row is locked before the pause's, as the end of a turn does it: in the other order the two deadlock (M30).
with locked as materialized (
  select count(*) as rows from (select 1 from regrow.sweeps where job = $1::text for update) s
),
env as materialized (
  select regrow.clock() as at, regrow.clock() + make_interval(secs => $4::float8 / 1000) as until from locked
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select env.at, $3::text, 'pause', $1::text,
    json_build_object('reason', $2::text, 'until', env.until)::text
  from env
),
counted as (
  update regrow.sweeps s set next_at = env.at, cursor = null, holder = null, until = null
    , pass_seen = 0
    , pass_unusable = 0 -- since 9
  from env where s.job = $1::text
)
insert into regrow.pauses as p (job, reason, author, since, until)
select $1::text, $2::text, $3::text, env.at, env.until from env
on conflict (job) do update set reason = excluded.reason, author = excluded.author, until = excluded.until
  , since = case when p.until <= excluded.since then excluded.since else p.since end
  , backlog = case when p.until <= excluded.since then null else p.backlog end
returning p.job, p.reason, p.author, (extract(epoch from p.since) * 1000)::float8 as since_ms,
  (extract(epoch from p.until) * 1000)::float8 as until_ms
  , p.backlog::float8 as backlog
