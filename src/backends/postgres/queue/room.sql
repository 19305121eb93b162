-- Room: due hints of one job and lane. $1 job · $2 fresh · $3 count no further than this. Index: hints_due.
select count(*)::int as count from (
  select 1 from regrow.hints h
  where h.job = $1::text and h.fresh = $2::boolean and h.due_at <= (select regrow.clock()) limit $3::int8
) x
