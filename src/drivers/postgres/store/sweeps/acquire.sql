-- Turn: one pass per job at a time over the fleet, by compare-and-set (S10); zero rows mean "not mine".
-- $1 holder · $2 json [job] · $3 how long a turn lasts without a sign, ms · $4 turns at most · $5 stand-back, ms
-- Returns every job asked for: won, term, cursor, audited_ms since its audit, pause_over (a pause that has run out and is
-- still written down), ramped_ms since everything came back at once, errors in a row, the sample of waiting keys, full_before (the queue, in the turn before),
-- missing (no row: it has to be declared again), and wait_ms until this holder may have it: due, stood back, and free.
-- A time further ahead than the interval or a turn allows was written by a clock that is set back since: it is over, and a pause keeps
-- its length from now on (L10). Ten seconds more, so that clocks and statements that meet take nothing for that.
-- The turn of a dead worker is ended with its claims, by free. One of the caller's own is won again: who asks for it does not
-- know that it has it, because the answer was lost (L2).
-- Who made the last pass stands back for a moment, so that a new deploy's query gets its turn. Jobs whose last turn failed
-- come after the others: one that hangs keeps its place for long.
-- A job whose pause has run out has none until that is ended: the pass that follows is a ramped one (L9).
with env as materialized (
  select regrow.clock() as at
),
asked as materialized (
  select job from jsonb_array_elements_text($2::text::jsonb) as x(job)
),
due as materialized (
  select s.job from regrow.sweeps s join asked on asked.job = s.job cross join env
  where (s.holder is null or s.until is null or s.until <= env.at or s.holder = $1::text or s.until > env.at + make_interval(secs => $3::float8 / 1000 + 10))
    and (s.next_at + make_interval(secs => case when s.last_holder = $1::text then $5::float8 / 1000 else 0 end) <= env.at
      or s.next_at > env.at + make_interval(secs => s.every_ms * 1.2::float8 / 1000 + 10))
    and not exists (select 1 from regrow.pauses p where p.job = s.job and p.until <= env.at)
  order by
    s.errors > 0,
    s.next_at, s.job
  limit $4::int
  for update of s skip locked
),
won as (
  update regrow.sweeps s
  set holder = $1::text, term = s.term + 1, until = env.at + make_interval(secs => $3::float8 / 1000), last_attempt_at = env.at,
    next_at = least(s.next_at, env.at)
  from due cross join env where s.job = due.job
  returning s.job, s.term, s.cursor
    , s.ramped_at
),
shortened as (
  update regrow.pauses p set since = env.at, until = p.until - (p.since - env.at)
  from env where p.until is not null and p.since > env.at + interval '10 seconds'
)
select asked.job, s.job is null as missing, won.job is not null as won, won.term::text as term, won.cursor,
  (extract(epoch from env.at) * 1000)::float8 as at_ms,
  (extract(epoch from env.at - s.audited_at) * 1000)::float8 as audited_ms,
  p.until <= env.at as pause_over,
  (extract(epoch from env.at - won.ramped_at) * 1000)::float8 as ramped_ms, s.errors, s.sample::text as sample, s.dropped > 0 as full_before,
  coalesce(greatest(
    extract(epoch from s.next_at - env.at) + case when s.last_holder = $1::text then $5::float8 / 1000 else 0 end,
    case when s.holder <> $1::text then extract(epoch from s.until - env.at) end
  ) * 1000, 0)::float8 as wait_ms
from asked cross join env
left join won on won.job = asked.job
left join regrow.sweeps s on s.job = asked.job
left join regrow.pauses p on p.job = asked.job
