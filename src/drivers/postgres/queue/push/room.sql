-- Room: due hints of one job and lane, or more: a number that there cannot be more of. $1 job · $2 fresh · $3 count no further
-- than this. Index: hints_due. No hint takes less than 44 bytes: a table that has no place for a quarter of the bound is not counted.
select case when held.most * 4 <= $3::int8 then held.most else (
    select count(*) from (
      select 1 from regrow.hints h
      where h.job = $1::text and h.fresh = $2::boolean and h.due_at <= (select regrow.clock()) limit $3::int8
    ) x
  ) end::int as count
from (select pg_relation_size('regrow.hints') / 44 as most) held
