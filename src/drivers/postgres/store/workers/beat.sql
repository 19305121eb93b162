-- Beat: this worker lives. Gives back claims of mine whose take is neither known nor awaited (a lost reply, M31),
-- and moves the pulse: after a silence of half a lease nobody whose lease that is may be declared dead for a whole one (M43). The
-- silence counts for workers that lived when it began: one that died before keeps nobody alive. A grace that reaches further ahead than
-- a lease was given by a clock that is set back since, and so was a retry_at of what is given back (L10). A pulse that is gone is made again.
-- $1 holder · $2 json [known take] · $3 highest take handed out when $2 was written · $4 lease in ms · $5 slots that are stuck
-- $6 lowest take to look at: while a long transaction keeps them, the entries of claims that are over are without number
-- Returns one row: alive, and how many claims were given back. Claims that are locked now wait for the next beat.
with env as materialized (
  select regrow.clock() as at, make_interval(secs => $4::float8 / 1000) as lease, $5::int as stuck,
    set_config('synchronous_commit', 'off', true) as quick
),
me as (
  update regrow.workers w
  set beat_at = env.at
    , stuck = env.stuck
    , lease_ms = round($4::float8) -- since 9
  from env where w.id = $1::text and env.quick = 'off' returning w.id
),
fleet as materialized (
  select w.beat_at
    , coalesce(make_interval(secs => w.lease_ms::float8 / 1000), env.lease) as lease -- since 9
    , env.lease -- before 9
  from regrow.workers w cross join env
),
pulse as (
  insert into regrow.pulse as p (one, beat_at, grace_until)
  select true, env.at, env.at + env.lease from env where exists (select 1 from me)
  on conflict (one) do update set beat_at = excluded.beat_at,
    grace_until = coalesce(
      greatest(
        case when p.beat_at < excluded.beat_at - (select lease from env) / 2 then excluded.beat_at + (select lease from env) end,
        (
          select excluded.beat_at + max(f.lease) from fleet f
          where f.beat_at >= p.beat_at - f.lease and p.beat_at < excluded.beat_at - f.lease / 2
        )
      ),
      least(p.grace_until, excluded.beat_at + greatest((select lease from env), (select max(lease) from fleet)))
    )
    , set_back_at = case when p.beat_at > excluded.beat_at + interval '10 seconds' then excluded.beat_at else p.set_back_at end -- since 9
    , set_back_ms = case when p.beat_at > excluded.beat_at + interval '10 seconds' then extract(epoch from p.beat_at - excluded.beat_at) * 1000 else p.set_back_ms end -- since 9
),
lost as materialized (
  select l.job, l.key, l.failures = 0 and l.crashes = 0 and l.retry_at is null as blank from regrow.ledger l
  where l.holder = $1::text and l.take >= $6::int8 and l.take <= $3::int8
    and l.take <> all (array(select jsonb_array_elements_text($2::text::jsonb)::int8))
  order by l.key collate "C", l.job
  for update skip locked
),
gone as (
  delete from regrow.ledger l using lost where lost.blank and l.key = lost.key and l.job = lost.job
),
kept as (
  update regrow.ledger l set holder = null, take = null, state = 'retrying', solo = false, updated_at = regrow.clock(),
    retry_at = case when l.retry_at > regrow.clock() then regrow.clock() else l.retry_at end
  from lost where not lost.blank and l.key = lost.key and l.job = lost.job
)
select exists (select 1 from me) as alive, (select count(*) from lost)::int as given_back
