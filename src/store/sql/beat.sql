-- Beat: this worker lives. Gives back claims of mine whose take is neither known nor awaited (a lost reply, M31).
-- $1 holder · $2 json [known take] · $3 highest take handed out when $2 was written
-- Returns alive. Claims that are locked now wait for the next beat.
with me as (update regrow.workers set beat_at = regrow.clock() where id = $1::text returning id),
lost as materialized (
  select l.job, l.key, l.failures + l.crashes = 0 as blank from regrow.ledger l
  where l.holder = $1::text and l.take <= $3::int8
    and l.take <> all (array(select jsonb_array_elements_text($2::text::jsonb)::int8))
  order by l.key, l.job for update skip locked
),
gone as (delete from regrow.ledger l using lost where lost.blank and l.key = lost.key and l.job = lost.job),
kept as (
  update regrow.ledger l set holder = null, take = null, state = 'retrying'
  from lost where not lost.blank and l.key = lost.key and l.job = lost.job
)
select exists (select 1 from me) as alive
