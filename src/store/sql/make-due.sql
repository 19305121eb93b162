-- Make due: the sweeps of these jobs begin a new pass now. $1 json [job]
update regrow.sweeps set next_at = regrow.clock(), cursor = null
where job in (
  select s.job from regrow.sweeps s where s.job in (select jsonb_array_elements_text($1::text::jsonb)) order by s.job for update
)
returning job
