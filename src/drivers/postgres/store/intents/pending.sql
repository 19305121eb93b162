-- Pending intents of a job, each with whether it has a unique key to give up when it starts. A part of statements, as the query of a user is.
-- Unique keys of schedules are held until the work is done, whatever its job says: they keep two slots apart.
-- $1 job. Index: intents_of_job; intents_pkey for those that are asked for by id.
select id, run_at, created_at, input::text as input,
  (unique_key not like 'schedule %'
    or started_key is not null -- since 9
  ) is true as unique_key
from regrow.intents where job = $1::text
