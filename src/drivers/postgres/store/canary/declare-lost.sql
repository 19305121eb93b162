-- Lose: the queue is gone. A new epoch, by compare-and-set: one winner (S17, M27), and not sooner than $6 ms after the last.
-- $1 queue · $2 epoch that the store had · $3 epoch found in the queue, or null · $4 how it differs · $5 who noticed · $6 ms
-- Returns the new epoch; no row: somebody else was quicker, or it is too soon.
-- The epoch is the store's own: anybody who reaches the queue's server can write any number there, so the one found is only
-- avoided, never adopted. An epoch beyond 2^53 is no number of a client's: it is compared as one, and counting begins again.
-- Every sweep begins a new pass now, from the beginning (M42): a turn under way is taken from its holder, who might be dead,
-- and whose cursor would be of a queue that is no more. Synchronous: an epoch that a crash takes back would come twice.
with env as materialized (
  select regrow.clock() as at
),
won as (
  update regrow.marks m
  set epoch = case when m.epoch not between 0 and 9007199254740000 then 1 else m.epoch + 1 end
      + case when $3::text = (m.epoch + 1)::text then 1 else 0 end,
    sequence = 0, epoch_at = env.at, bumped_at = env.at
  from env
  where m.queue = $1::text and m.epoch::float8 = $2::text::float8
    and (m.epoch_at <= env.at - make_interval(secs => $6::float8 / 1000) or m.epoch_at > env.at + interval '10 seconds')
  returning m.epoch, env.at
),
swept as materialized (
  select s.job, exists (select 1 from regrow.workers w where jsonb_exists(w.jobs, s.job)) as handled
  from regrow.sweeps s where exists (select 1 from won) order by s.job for update of s
),
-- Sweeps are locked before heals, as by every turn that counts what it brought back: the other order would deadlock (M30).
overtaken as (
  update regrow.heals h set ended_at = won.at from won
  where h.queue = $1::text and h.ended_at is null and (select count(*) from swept) >= 0
),
heal as (
  insert into regrow.heals (queue, epoch, at, how, noticed_by, jobs_left, ended_at)
  select $1::text, won.epoch, won.at, $4::text, $5::text, n.jobs, case when n.jobs = 0 then won.at end
  from won cross join (select count(*) filter (where handled)::int as jobs from swept) n
  returning id
),
begun as (
  update regrow.sweeps s
  set next_at = won.at, ramped_at = won.at, cursor = null, holder = null, until = null, last_holder = null,
    pass_unusable = 0, -- since 9
    pass_seen = 0, heal = case when swept.handled then heal.id end
  from swept cross join won cross join heal where s.job = swept.job
),
forgotten as (
  delete from regrow.heals h using won where h.at < won.at - interval '1 year'
)
select epoch::text as epoch from won
