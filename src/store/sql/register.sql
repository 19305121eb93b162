-- Register: a worker appears under a new identity. $1 holder
insert into regrow.workers (id, beat_at) values ($1::text, regrow.clock()) on conflict do nothing
