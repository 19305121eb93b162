-- Look: schedules that have not ended, each with its open slots, and the store's time.
-- $1 json [name], or null for a page · $2 after this name · $3 so many at most · $4 lease in ms
-- Index: schedules_pkey; slots_open, whose entries are few beside a month of history; ledger_pkey for slots that have begun;
-- intents_unique for what they handed over.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $4::float8 / 1000) as lease
),
live as materialized (
  select distinct j.job from regrow.workers w cross join env cross join lateral jsonb_object_keys(w.jobs) as j(job)
  where w.beat_at > env.at - coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) -- since 9
  where w.beat_at > env.at - env.lease -- before 9
),
chosen as materialized (
  select s.* from regrow.schedules s
  where s.ended_at is null and s.name > coalesce($2::text, '')
    and ($1::text is null or s.name = any (array(select jsonb_array_elements_text($1::text::jsonb))))
  order by s.name limit $3::int
)
select (extract(epoch from env.at) * 1000)::float8 as at_ms, s.name, s.job, s.lane, s.version, s.term::text as term, s.cron,
  s.every_ms::float8 as every_ms, s.tz, s.missed, s.overlap, s.jitter_ms::float8 as jitter_ms, s.key, s.input::text as input, s.declared,
  (extract(epoch from s.start_at) * 1000)::float8 as start_at_ms, (extract(epoch from s.end_at) * 1000)::float8 as end_at_ms,
  (extract(epoch from s.from_at) * 1000)::float8 as from_ms, (extract(epoch from s.last_slot) * 1000)::float8 as last_slot_ms,
  s.paused_at is not null as paused,
  s.lane <> s.job and exists (
    select 1 from regrow.pauses p where p.job = s.job and (p.until is null or p.until > env.at)
  ) as job_paused,
  -- The intent of an earlier slot has the schedule's unique key: see src/schedule/runtime-schedules.ts.
  case when s.lane <> s.job and s.input is not null then (
    select extract(epoch from n.created_at) * 1000 from regrow.intents n
    where n.job = s.job and n.unique_key = 'schedule ' || s.name and not exists (
      select 1 from regrow.ledger l where l.key = n.id::text and l.job = n.job and l.state = 'quarantined' and l.holder is null
    )
  ) end::float8 as handed_ms,
  -- Handing over needs no handler of the job: any worker does it.
  case when s.lane = s.job then s.lane in (select job from live) else exists (select 1 from live) end as live,
  case when s.ran_until > coalesce(s.last_slot, '-infinity') then ( -- since 9
    select json_agg(extract(epoch from r.slot) * 1000 order by r.slot) from ( -- since 9
      select t.slot from regrow.slots t where t.schedule = s.name and t.slot > coalesce(s.last_slot, '-infinity') and t.slot <= s.ran_until -- since 9
        and (t.state = 'ran' or t.begun_at is not null) order by t.slot limit 2000 -- since 9
    ) r -- since 9
  ) end::text as ran, -- since 9
  (
    select json_agg(json_build_array(extract(epoch from o.slot) * 1000, extract(epoch from o.due_at) * 1000, o.key, o.state = 'held',
      extract(epoch from o.begun_at) * 1000,
      case when o.begun_at is not null then (
        select case when l.holder is not null then 'claimed' when l.state = 'quarantined' then l.state end
        from regrow.ledger l where l.key = o.key and l.job = o.lane
      ) end) order by o.slot)
    from regrow.slots o where o.schedule = s.name and o.state in ('waiting', 'held')
  )::text as open
from env left join chosen s on true
order by s.name
