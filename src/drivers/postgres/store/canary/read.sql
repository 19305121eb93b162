-- Look at the store's copy of the canary. $1 queue · $2 how often the queue's mark is changed, ms
-- Returns one row: epoch, sequence, whether the row is new, whether the caller is the one that changes the queue's mark
-- this time, and whether the row is of a clock that is set back since: then what the queue holds may be due much too late (L10). Who finds the row locked is not. A new row counts as a second old: its maker needs a moment to put the mark into
-- the queue, and a loss soon after is told all the same.
with env as materialized (
  select regrow.clock() as at, set_config('synchronous_commit', 'off', true) as quick
),
made as (
  insert into regrow.marks (queue, epoch, sequence, epoch_at, bumped_at)
  select $1::text, 1, 0, env.at - interval '1 second', env.at from env
  where not exists (select 1 from regrow.marks where queue = $1::text)
  on conflict (queue) do nothing
  returning epoch, sequence
),
due as materialized (
  select m.queue from regrow.marks m cross join env
  where m.queue = $1::text and env.quick = 'off' and m.bumped_at <= env.at - make_interval(secs => $2::float8 / 1000)
  for update of m skip locked
),
mine as (
  update regrow.marks m set bumped_at = env.at from due cross join env where m.queue = due.queue
  returning m.epoch, m.sequence
)
select epoch::text as epoch, sequence::text as sequence, true as first, false as bumps, false as set_back from made
union all
select epoch::text, sequence::text, false, true, false from mine
union all
select m.epoch::text, m.sequence::text, false, false, m.bumped_at > env.at + interval '10 seconds' from regrow.marks m cross join env
where m.queue = $1::text and not exists (select 1 from mine)
