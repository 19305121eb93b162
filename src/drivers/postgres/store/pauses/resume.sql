-- Resume: ends a pause, or with no author those that have run out. $1 job · $2 author; null: only a pause that is over
-- Its job's sweep begins a new pass now, ramped: what the pause dropped comes back. Returns one row when a pause was ended.
-- The sweep's row is locked before the pause's, as the end of a turn does it: in the other order the two deadlock (M30).
with locked as materialized (
  select count(*) as rows from (select 1 from regrow.sweeps where job = $1::text for update) s
),
ended as (
  delete from regrow.pauses p using locked where p.job = $1::text and ($2::text is not null or p.until <= regrow.clock())
  returning p.job, p.reason
),
begun as (
  update regrow.sweeps s set next_at = regrow.clock(), cursor = null, holder = null, until = null, last_holder = null
    , ramped_at = regrow.clock(), pass_seen = 0
    , pass_unusable = 0 -- since 9
  from ended where s.job = ended.job
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select regrow.clock(), coalesce($2::text, 'regrow'), case when $2::text is null then 'pause.over' else 'resume' end, job,
    json_build_object('reason', reason)::text from ended
)
select job from ended
