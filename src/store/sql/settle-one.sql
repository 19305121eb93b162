-- Settle of one success, in a transaction of a handler (S3, S4). The shortest plan there is: it is run once per key.
-- $1 holder · $2 job · $3 key · $4 take. Returns one row where the claim was held.
delete from regrow.ledger where key = $3::text and job = $2::text and holder = $1::text and take = $4::int8 returning 1 as held
