-- What it takes to name rows that can never run, to free a worker by its own lease, and to keep schedules as they were left.

-- Rows whose key cannot be a key (sweep).
alter table regrow.sweeps
  -- By the last whole pass, or more where the present one has found more by now; and the beginning of one of their keys.
  add column if not exists unusable bigint not null default 0,
  add column if not exists unusable_key text,
  -- Those that the present pass has seen in the turns before this one.
  add column if not exists pass_unusable bigint not null default 0;

-- What the last worker that declared the job declared: another one is swept at once.
alter table regrow.sweeps add column if not exists fingerprint text;

-- Workers and time (lease, clock).

-- Schedules.

-- Intents.
