-- The view, for teams whose queue is Postgres: hints and their canary are UNLOGGED. After a crash both are gone together,
-- and that is how the loss is seen.
create unlogged table if not exists regrow.hints (
  job text collate "C" not null,
  key text collate "C" not null,
  due_at timestamptz not null,
  fresh boolean not null,
  primary key (job, key)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create index if not exists hints_due on regrow.hints (job, fresh, due_at);

create unlogged table if not exists regrow.canary (
  one boolean primary key default true check (one),
  epoch bigint not null,
  sequence bigint not null
);
