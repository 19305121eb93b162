-- Forget: deletes what the tables hold of a job that is gone from the code. A person's act: it is in the audit.
-- $1 job · $2 lease in ms · $3 true: also stored inputs and keys in quarantine · $4 author
-- Returns one row: `live` workers that declare the job, its `schedules` that have not ended (json), what there was of it, and `done`.
-- All or nothing: a live worker, a schedule, or without $3 an input or a quarantined key keeps everything. Of a job that no table names
-- nothing is done, nor written to the audit.
-- The sweep's row is locked before the ledger's and the pause's, and ledger rows in key order, as elsewhere (M30).
-- Reads the job's part of the ledger by a scan: for a person, not for a loop.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $2::float8 / 1000) as lease
),
swept as materialized (
  select s.job, s.heal from regrow.sweeps s where s.job = $1::text for update
),
remembered as materialized (
  select l.key, l.state from regrow.ledger l
  where l.job = $1::text and (select count(*) from swept) >= 0 order by l.key collate "C" for update
),
stored as materialized (
  select n.id from regrow.intents n where n.job = $1::text and (select count(*) from remembered) >= 0 order by n.id for update
),
found as materialized (
  select
    (select count(*) from regrow.workers w cross join env
     where w.beat_at >= env.at - env.lease and jsonb_exists(w.jobs, $1::text))::int as live,
    (select coalesce(json_agg(c.name order by c.name), '[]') from regrow.schedules c where c.job = $1::text and c.ended_at is null)::text as schedules,
    (select count(*) from remembered where state <> 'quarantined')::int as remembered,
    (select count(*) from remembered where state = 'quarantined')::int as quarantined,
    (select count(*) from stored)::int as intents,
    exists (select 1 from swept) as swept,
    exists (select 1 from regrow.pauses p where p.job = $1::text) as paused
),
allowed as materialized (
  select f.* from found f
  where f.live = 0 and f.schedules = '[]' and ($3::boolean or f.quarantined + f.intents = 0)
    and (f.swept or f.paused or f.remembered + f.quarantined + f.intents > 0)
),
no_ledger as (
  delete from regrow.ledger l using remembered r, allowed where l.key = r.key and l.job = $1::text
),
no_intents as (
  delete from regrow.intents n using stored s, allowed where n.id = s.id
),
no_sweep as (
  delete from regrow.sweeps s using allowed where s.job = $1::text
),
no_drain as (
  delete from regrow.meta m using allowed where m.name = 'drained ' || $1::text
),
no_pause as (
  delete from regrow.pauses p using allowed where p.job = $1::text
),
healed as (
  update regrow.heals h set jobs_left = h.jobs_left - 1, ended_at = case when h.jobs_left <= 1 then regrow.clock() end
  from swept s cross join allowed where h.id = s.heal and h.ended_at is null
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select env.at, $4::text, 'forget', $1::text,
    json_build_object('remembered', a.remembered, 'quarantined', a.quarantined, 'intents', a.intents, 'paused', a.paused)::text
  from env cross join allowed a
)
select f.*, exists (select 1 from allowed) as done from found f
