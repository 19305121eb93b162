-- What healing remembers: the store's copy of the canary, the losses of the queue, and what each sweep found of its job.
-- Code that finds the schema before this one works without them (see schema.ts).

-- The store's copy of the canary, one row per queue: what the queue shows is compared with it.
create table if not exists regrow.marks (
  queue text primary key,
  epoch bigint not null,
  sequence bigint not null,
  -- Since when this epoch is: rebuilds keep a distance.
  epoch_at timestamptz not null,
  -- When somebody last set out to change the queue's mark.
  bumped_at timestamptz not null
) with (fillfactor = 50);

-- Every loss of a queue, and how it grew back.
create table if not exists regrow.heals (
  id bigint generated always as identity primary key,
  queue text not null,
  epoch bigint not null,
  at timestamptz not null,
  how text not null check (how in ('missing', 'foreign', 'behind')),
  noticed_by text not null,
  -- Jobs of live workers whose first pass after the loss is not over yet.
  jobs_left int not null,
  pushed bigint not null default 0,
  ended_at timestamptz
);

create index if not exists heals_at on regrow.heals (at);

alter table regrow.sweeps
  -- The interval that its declaration asks for, in ms.
  add column if not exists every_ms bigint,
  -- The loss whose pass this is; null: none.
  add column if not exists heal bigint,
  -- Everything came back at once, by a loss or the end of a pause: hints are pushed slowly at first.
  add column if not exists ramped_at timestamptz,
  -- Rows that the present pass has seen in the turns before this one.
  add column if not exists pass_seen bigint not null default 0,
  -- Pending rows by the last whole pass, or by the planner when passes do not reach the end.
  add column if not exists pending bigint,
  add column if not exists pending_estimated boolean not null default false,
  add column if not exists pending_at timestamptz,
  -- The longest that a pending row is known to have waited.
  add column if not exists oldest_at timestamptz,
  -- A few pending keys and since when each is known to be pending: { key: epoch in ms }.
  add column if not exists sample jsonb,
  -- Hints that the last turn could not push: the queue was full.
  add column if not exists dropped bigint not null default 0,
  -- Runs that ended well while their row stayed pending: since the present pass began, and in the one before.
  add column if not exists stalled bigint not null default 0,
  add column if not exists no_progress bigint not null default 0,
  -- Failed turns in a row.
  add column if not exists errors int not null default 0;

-- How much was pending when the pause began; null: no sweep has counted yet.
alter table regrow.pauses add column if not exists backlog bigint;
