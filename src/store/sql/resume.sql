-- Resume: ends a pause. Its job's sweep begins a new pass now: what the pause dropped comes back. $1 job · $2 author
-- Returns one row when there was a pause.
with ended as (
  delete from regrow.pauses where job = $1::text returning job, reason
),
due as (
  update regrow.sweeps s set next_at = regrow.clock(), cursor = null from ended where s.job = ended.job
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select regrow.clock(), $2::text, 'resume', job, json_build_object('reason', reason)::text from ended
)
select job from ended
