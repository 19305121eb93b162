-- The truth: regrow's own logged tables. Forward only, additive.
create schema if not exists regrow;

-- All SQL reads time through this function, so that tests of skew and simulation can replace it.
create or replace function regrow.clock() returns timestamptz language sql volatile parallel safe as 'select clock_timestamp()';

create table if not exists regrow.meta (
  name text primary key,
  value text not null
);

insert into regrow.meta (name, value) values ('identity', gen_random_uuid()::text) on conflict do nothing;

-- One row. grace_until keeps claims from being stolen after a time in which nobody could beat.
create table if not exists regrow.pulse (
  one boolean primary key default true check (one),
  beat_at timestamptz not null default '-infinity',
  grace_until timestamptz not null default '-infinity'
);

insert into regrow.pulse (one) values (true) on conflict do nothing;

create table if not exists regrow.workers (
  id text primary key,
  host text not null,
  pid int not null,
  jobs jsonb not null,
  started_at timestamptz not null,
  beat_at timestamptz not null
);

-- One row per key that is running, backed off or quarantined; success deletes the row.
-- The key leads the index: with job first, a table without statistics makes the planner read all rows of a job.
create table if not exists regrow.ledger (
  job text not null,
  key text collate "C" not null,
  version text,
  holder text,
  take bigint,
  solo boolean not null default false,
  failures int not null default 0,
  crashes int not null default 0,
  solo_crashes int not null default 0,
  retry_at timestamptz,
  state text not null check (state in ('running', 'retrying', 'quarantined')),
  error text,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (key, job)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create index if not exists ledger_holder on regrow.ledger (holder) where holder is not null;

create index if not exists ledger_quarantined on regrow.ledger (job, key) where state = 'quarantined';

create table if not exists regrow.sweeps (
  job text primary key,
  next_at timestamptz not null,
  holder text,
  term bigint not null default 0,
  until timestamptz,
  last_holder text,
  cursor text,
  last_attempt_at timestamptz,
  last_success_at timestamptz,
  last_error text,
  seen bigint not null default 0,
  pushed bigint not null default 0,
  held bigint not null default 0,
  took_ms bigint not null default 0
) with (fillfactor = 50);

create table if not exists regrow.pauses (
  job text primary key,
  reason text not null,
  author text not null,
  since timestamptz not null,
  until timestamptz
);

create table if not exists regrow.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  author text not null,
  action text not null,
  job text,
  detail text
);

create table if not exists regrow.intents (
  id uuid primary key,
  job text not null,
  input jsonb not null,
  run_at timestamptz,
  unique_key text,
  created_at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create index if not exists intents_job on regrow.intents (job, id);

create unique index if not exists intents_unique on regrow.intents (job, unique_key) where unique_key is not null;
