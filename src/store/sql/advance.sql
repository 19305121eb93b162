-- Advance: the cursor moves on and the turn is kept. $1 job · $2 holder · $3 term · $4 cursor · $5 turn, ms
-- Returns one row while the turn is ours, none otherwise.
update regrow.sweeps set cursor = $4::text, until = regrow.clock() + make_interval(secs => $5::float8 / 1000)
where job = $1::text and holder = $2::text and term = $3::int8 returning job
