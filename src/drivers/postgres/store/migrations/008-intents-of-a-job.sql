-- Who names ids alone is led to them by intents_pkey, and nowhere else. While the table is empty, as it mostly is when somebody analyses
-- it, an index of (job, id) looked as good to the planner, and a settle walked along all of it: every intent that was done since the
-- oldest transaction that is open.
create index if not exists intents_of_job on regrow.intents (job, id) where job is not null;

drop index if exists regrow.intents_job;
