-- End of turns: what each found, and when its job's next one is due. Turns that are no longer the holder's are left alone.
-- $1 holder · $2 json [{ job, term, cursor, next_ms, error, seen, passed, pushed, held, dropped, took_ms, audited, finished,
-- brought_back, estimate, oldest_ms, sample, counted, unusable, unusable_key, every_ms }], each job once
-- A sweep that was made due while the pass ran stays due. The first pass after a loss counts what it brought back; the last
-- of them ends the heal, and its row is returned: epoch, pushed, took_ms since the loss. The lock on that row counts right
-- when turns end at once. Rows are locked in one order, sweeps by job before heals by id (M30). The oldest row is that of the whole pass, in however many turns it is made.
-- pending: what a whole pass saw; before its end the planner's guess, or what this turn saw if that is more. Rows that earlier
-- turns of the pass saw may be done since. Rows that cannot be keys are counted by whole passes; one that is not over raises the
-- count, and never lowers it.
with x as materialized (
  select * from jsonb_to_recordset($2::text::jsonb) as x(job text, term int8, cursor text, next_ms float8, error text, seen int8, passed int8, pushed int8, held int8,
    dropped int8, took_ms int8, audited boolean, finished boolean, brought_back boolean, estimate int8, oldest_ms float8, sample jsonb, counted int8,
    unusable int8, unusable_key text, every_ms int8)
),
mine as materialized (
  select s.job
    , s.heal
  from regrow.sweeps s join x on x.job = s.job where s.holder = $1::text and s.term = x.term
  order by s.job for update of s
),
ended as (
  update regrow.sweeps s
  set holder = null, until = null, last_holder = $1::text, cursor = x.cursor,
    next_at = case when s.next_at > s.last_attempt_at then s.next_at
      else regrow.clock() + make_interval(secs => x.next_ms / 1000) end,
    -- The interval that next_at goes by: see turn.sql.
    every_ms = coalesce(x.every_ms, s.every_ms),
    last_success_at = case when x.error is null then regrow.clock() else s.last_success_at end,
    audited_at = case when x.audited then regrow.clock() else s.audited_at end,
    heal = case when x.brought_back then null else s.heal end,
    errors = case when x.error is null then 0 else s.errors + 1 end,
    pass_seen = case when x.finished then 0 else s.pass_seen + coalesce(x.passed, x.seen) end,
    pending = case when x.finished then s.pass_seen + x.seen
      when x.estimate is not null then greatest(x.estimate, x.seen) else s.pending end,
    pending_estimated = case when x.finished then false else s.pending_estimated or x.estimate is not null end,
    pending_at = case when x.finished or x.estimate is not null then regrow.clock() else s.pending_at end,
    oldest_at = case when x.error is not null then s.oldest_at
      else least(regrow.clock() - make_interval(secs => x.oldest_ms / 1000),
        case when s.pass_seen > 0 then s.oldest_at end) end,
    sample = case when x.error is not null then s.sample else x.sample end,
    dropped = coalesce(x.dropped, 0),
    no_progress = case when x.finished then s.stalled else s.no_progress end,
    stalled = case when x.finished then 0 else s.stalled end,
    unusable = case when x.finished then s.pass_unusable + x.unusable else greatest(s.unusable, s.pass_unusable + x.unusable) end, -- since 9
    pass_unusable = case when x.finished then 0 else s.pass_unusable + x.unusable end, -- since 9
    unusable_key = case when x.unusable > 0 then x.unusable_key when not x.finished or s.pass_unusable > 0 then s.unusable_key end, -- since 9
    last_error = x.error, seen = x.seen, pushed = x.pushed, held = x.held, took_ms = x.took_ms
  from x join mine on mine.job = x.job where s.job = mine.job
  returning s.job
)
, brought as materialized (
  select mine.heal, sum(x.pushed - coalesce(x.counted, 0)) as pushed, count(*) filter (where x.brought_back) as jobs
  from mine join x on x.job = mine.job where mine.heal is not null group by mine.heal
)
, healing as materialized (
  select h.id from regrow.heals h where h.id in (select heal from brought) order by h.id for update of h
)
, counted as (
  update regrow.heals h
  set pushed = h.pushed + b.pushed, jobs_left = h.jobs_left - b.jobs,
    ended_at = case when b.jobs > 0 and h.jobs_left <= b.jobs then regrow.clock() end
  from brought b join healing on healing.id = b.heal where h.id = b.heal and h.ended_at is null
  returning h.id, h.epoch, h.pushed, h.at, h.ended_at
)
, backlog as (
  update regrow.pauses p set backlog = s.pass_seen + x.seen
  from mine join x on x.job = mine.job join regrow.sweeps s on s.job = mine.job
  where p.job = mine.job and p.backlog is null and x.finished
)
select c.epoch::text as epoch, c.pushed::float8 as pushed, (extract(epoch from c.ended_at - c.at) * 1000)::float8 as took_ms from counted c where c.ended_at is not null order by c.id
