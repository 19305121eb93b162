-- What recurs: schedules, and their slots. Code that finds the schema before this one works without them (see schema.ts).
create table if not exists regrow.schedules (
  name text collate "C" primary key,
  -- What runs at its instants, and whose hints its slots are: the job's own, or those of regrow.slots, which hands work over.
  job text not null,
  lane text not null,
  -- Raised by every edit; a slot's key has it, so that an old hint starts nothing.
  version int not null default 1,
  -- Raised by every write: who read an older one writes nothing.
  term bigint not null default 0,
  cron text,
  every_ms bigint,
  tz text not null,
  start_at timestamptz,
  end_at timestamptz,
  missed text not null,
  overlap text not null check (overlap in ('skip', 'queue', 'allow')),
  jitter_ms bigint not null,
  -- What is handed over: the key of a row, or an input.
  key text,
  input jsonb,
  -- By code; otherwise by a call at run time.
  declared boolean not null,
  -- Instants after this one are its own: when it was made, edited or resumed.
  from_at timestamptz not null,
  -- Every instant up to this one ran, runs or was skipped. It only grows.
  last_slot timestamptz,
  created_at timestamptz not null,
  -- When a live worker last had it.
  seen_at timestamptz not null,
  last_audit_at timestamptz,
  paused_at timestamptz,
  pause_reason text,
  pause_author text,
  ended_at timestamptz,
  -- 'person' or 'absent'.
  end_reason text
) with (fillfactor = 70);

create table if not exists regrow.slots (
  schedule text collate "C" not null,
  slot timestamptz not null,
  version int not null,
  lane text not null,
  key text collate "C" not null,
  -- The slot and its jitter.
  due_at timestamptz not null,
  -- held: an edit came, and nobody has looked yet whether it is still in the pattern.
  state text not null check (state in ('waiting', 'held', 'ran', 'skipped')),
  reason text check (reason in ('missed', 'paused', 'ended', 'replaced', 'overlap', 'dropped')),
  -- One row may stand for all instants up to here; how many, where somebody counted.
  through timestamptz,
  count int,
  made_at timestamptz not null,
  begun_at timestamptz,
  ended_at timestamptz,
  primary key (schedule, slot)
) with (fillfactor = 80);

create index if not exists slots_waiting on regrow.slots (lane, key) where state = 'waiting';

create index if not exists slots_open on regrow.slots (schedule, slot) where state in ('waiting', 'held');

create index if not exists slots_ended on regrow.slots (ended_at) where state in ('ran', 'skipped');

-- When the next audit of schedules is due: who moves it makes that audit.
alter table regrow.pulse add column if not exists audit_at timestamptz not null default '-infinity';
