-- Advance: the cursor moves on and the turn is kept. $1 job · $2 holder · $3 term · $4 cursor · $5 turn, ms
-- $6 hints that it brought back since the last time: a heal that another loss overtakes has its count by then
-- Returns one row while the turn is ours, none otherwise.
with mine as (
  update regrow.sweeps set cursor = $4::text, until = regrow.clock() + make_interval(secs => $5::float8 / 1000)
  where job = $1::text and holder = $2::text and term = $3::int8
  returning job
    , heal
)
, counted as (
  update regrow.heals h set pushed = h.pushed + $6::int8
  from mine where h.id = mine.heal and h.ended_at is null and $6::int8 > 0
)
select job from mine where $6::int8 is not null
