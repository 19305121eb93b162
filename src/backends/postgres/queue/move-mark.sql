-- Changes the canary that is there; creates none (M41). $1 epoch · $2 sequence
update regrow.canary set epoch = $1::text::int8, sequence = $2::text::int8 returning one
