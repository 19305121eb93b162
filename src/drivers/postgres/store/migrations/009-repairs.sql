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
-- After this time without a beat the worker is dead; null: a worker of older code, which has the lease of whoever looks.
alter table regrow.workers add column if not exists lease_ms bigint;

-- When a beat last found the database's clock set back, and by how much.
alter table regrow.pulse
  add column if not exists set_back_at timestamptz,
  add column if not exists set_back_ms bigint;

-- Schedules.
-- Instants up to here may have run already, by a clock that was ahead; null: none after last_slot.
alter table regrow.schedules add column if not exists ran_until timestamptz;
alter table regrow.slots
  -- What the slot handed over: to which job, and the id of the intent or the key of the row.
  add column if not exists handed_job text,
  add column if not exists handed_intent uuid,
  add column if not exists handed_key text;
create index if not exists slots_handed on regrow.slots (handed_intent) where handed_intent is not null;

-- Intents.
alter table regrow.intents
  -- The unique key of one that has started and gave it up: those of the same text run one after the other.
  add column if not exists started_key text;
create index if not exists intents_started on regrow.intents (job, started_key) where started_key is not null;

-- Texts that no setting of a session changes (plain-text.ts).
create or replace function regrow.plain_text(value anyelement) returns text language sql stable
  set timezone = 'UTC' set datestyle = 'ISO' set intervalstyle = 'postgres' set extra_float_digits = 1
  set bytea_output = 'hex' set lc_monetary = 'C'
  as 'select value::text';
