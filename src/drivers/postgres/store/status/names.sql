-- Inspect names: the jobs that regrow's tables know, and whether they know one more. $1 that job
-- Every job that a worker ever had has a sweep. Of $1 intents and quarantine are asked too, by their indexes: none of the big
-- tables is read, since who pauses a job in an emergency waits for the answer.
select job from regrow.sweeps
union
select job from regrow.pauses
union
select x.job from regrow.workers w cross join lateral jsonb_object_keys(w.jobs) as x(job)
union
select $1::text where exists (select 1 from regrow.intents where job = $1::text)
  or exists (select 1 from regrow.ledger where job = $1::text and state = 'quarantined')
order by job
