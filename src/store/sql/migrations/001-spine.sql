-- The truth: regrow's own logged tables.
create schema regrow;

-- All SQL reads time through this function, so that tests of skew and simulation can replace it.
create function regrow.clock() returns timestamptz language sql volatile as 'select clock_timestamp()';

create table regrow.workers (id text primary key, beat_at timestamptz not null);

-- One row per key that is running, backed off or quarantined; success deletes the row.
-- The key leads the index: with job first, a table without statistics makes the planner read all rows of a job.
create table regrow.ledger (
  job text not null,
  key text collate "C" not null,
  holder text,
  take bigint,
  failures int not null default 0,
  crashes int not null default 0,
  retry_at timestamptz,
  state text not null check (state in ('running', 'retrying', 'quarantined')),
  error text,
  primary key (key, job)
);

-- With a holder: its pass lasts until then at most. Without one: the next pass is due then.
create table regrow.sweeps (
  job text primary key,
  holder text,
  term bigint not null,
  until timestamptz not null,
  cursor text
);
