-- The queue's table in another shape. It is a view: its hints are thrown away, and the canary with them, so that they grow back.
-- The key leads the index: with job first, a table without statistics makes the planner read all hints of a job. Columns
-- stand in the order that leaves no gaps between them.
drop table if exists regrow.hints, regrow.canary;

create unlogged table if not exists regrow.hints (
  due_at timestamptz not null,
  fresh boolean not null,
  job text collate "C" not null,
  key text collate "C" not null
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- Another collation of the same order: who looks for the hints of a job cannot be led through this index by a plan that was made
-- while the table was empty, when either one looked as good, and is kept.
create unique index if not exists hints_key on regrow.hints (key, job collate "POSIX");

create index if not exists hints_due on regrow.hints (job, fresh, due_at);

create unlogged table if not exists regrow.canary (
  one boolean primary key default true check (one),
  epoch bigint not null,
  sequence bigint not null
);

-- Claims by holder and take: a beat looks for those behind the oldest one it knows of, and not at every claim that it ever
-- had while a long transaction keeps them.
create index if not exists ledger_taken on regrow.ledger (holder, take) where holder is not null;

drop index if exists regrow.ledger_holder;
