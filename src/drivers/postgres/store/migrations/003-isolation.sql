-- What crash isolation, halved batches, the slow audit and stuck slots remember. Code that finds the schema before this
-- one works without them (see schema.ts).
alter table regrow.ledger
  -- Who died with this key last: when one of those is caught crashing alone, the others are no longer suspects.
  add column if not exists crash_of text,
  -- Crashes that turned out to be somebody else's.
  add column if not exists pardoned int not null default 0,
  -- How many keys may share its next call; null: any number.
  add column if not exists together int,
  -- Since when the audit finds no pending row for it.
  add column if not exists unseen_at timestamptz;

create index if not exists ledger_crash on regrow.ledger (crash_of) where crash_of is not null;

create index if not exists ledger_suspect on regrow.ledger (job) where holder is not null and crashes >= 2;

-- One process per job runs a suspect alone at a time, whoever races for it.
create unique index if not exists ledger_solo on regrow.ledger (job) where solo and holder is not null;

alter table regrow.sweeps add column if not exists audited_at timestamptz;

alter table regrow.workers add column if not exists stuck int not null default 0;
