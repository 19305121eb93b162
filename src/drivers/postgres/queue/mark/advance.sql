-- Returns the canary that is there, and creates none (M41). One of this epoch that is not behind is raised past what is known;
-- any other is left as it is: it is a sign. $1 epoch · $2 sequence, as the store knew them
with found as materialized (
  select epoch, sequence from regrow.canary for update
),
moved as (
  update regrow.canary c set sequence = greatest(c.sequence, $2::text::int8 + 1)
  from found where found.epoch = $1::text::int8 and found.sequence >= $2::text::int8
)
select epoch::text as epoch, sequence::text as sequence from found
