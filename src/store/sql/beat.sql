-- Beat: this worker lives. Gives back claims of mine whose take is neither known nor awaited (a lost reply, M31),
-- and moves the pulse: when nobody beat for half a lease, nobody may be declared dead for a whole one (M43).
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
  from env where w.id = $1::text and env.quick = 'off' returning w.id
),
pulse as (
  update regrow.pulse p
  set grace_until = case when p.beat_at < env.at - env.lease / 2 then env.at + env.lease else p.grace_until end,
    beat_at = env.at
  from env where exists (select 1 from me)
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
  update regrow.ledger l set holder = null, take = null, state = 'retrying', solo = false, updated_at = regrow.clock()
  from lost where not lost.blank and l.key = lost.key and l.job = lost.job
)
select exists (select 1 from me) as alive, (select count(*) from lost)::int as given_back
