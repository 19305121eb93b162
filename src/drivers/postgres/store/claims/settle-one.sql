-- Settle of one success in a handler's transaction (S3, S4): the shortest plan there is, since it is run once per key.
-- $1 holder · $2 job · $3 key · $4 take. Fails when the claim is not held any more: what comes after it in the transaction,
-- its COMMIT above all, may be sent at once. The text is cast at run time only, and nothing but this error says it.
-- `is not distinct from` and not `=`: never by ledger_taken, whose entries are mostly of claims that are over.
with gone as (
  delete from regrow.ledger where key = $3::text and job = $2::text and holder is not distinct from $1::text and take = $4::int8 returning 1
)
select case count(*) when 1 then 1 else ('lease lost: ' || count(*))::int end as held from gone
