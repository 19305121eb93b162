-- Wipe: everything goes, the canary too. Returns how many hints there were.
with mark as (
  delete from regrow.canary
),
gone as (
  delete from regrow.hints returning 1
)
select count(*)::int as lost from gone
