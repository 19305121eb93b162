-- Writes the canary, whatever was there before. $1 epoch · $2 sequence
insert into regrow.canary (epoch, sequence) values ($1::text::int8, $2::text::int8)
on conflict (one) do update set epoch = excluded.epoch, sequence = excluded.sequence
