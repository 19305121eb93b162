-- End of a turn. $1 job · $2 holder · $3 term · $4 cursor · $5 the next one is due after so many ms
update regrow.sweeps set holder = null, cursor = $4::text,
  until = regrow.clock() + make_interval(secs => $5::float8 / 1000)
where job = $1::text and holder = $2::text and term = $3::int8
