-- Forget: all hints of one job go; the canary stays. $1 job. Returns how many there were.
with gone as (
  delete from regrow.hints where job = $1::text returning 1
)
select count(*)::int as count from gone
