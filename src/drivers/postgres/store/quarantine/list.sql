-- List quarantine: a page of keys that failed for good, by job and key.
-- $1 job, null: of all · $2 a text in the error, in any case of letters · $3, $4 since and before, epoch ms; below zero: so many ms ago
-- $5 version · $6, $7 job and key of the last row of the page before, null: the first page · $8 rows. Null filters nothing.
-- Index: ledger_quarantined (job, key), in its order: the clock is asked beside it, since a join would sort all there is.
-- Errors are cut: a page of whole ones would be megabytes.
select l.job, l.key, l.version, l.failures, l.crashes, left(l.error, 300) as error,
  (extract(epoch from l.updated_at) * 1000)::float8 as since_ms
from regrow.ledger l
where l.state = 'quarantined' and ($1::text is null or l.job = $1::text)
  and ($2::text is null or strpos(lower(l.error), lower($2::text)) > 0)
  and ($3::float8 is null or l.updated_at >= (select case when $3::float8 < 0
    then regrow.clock() + make_interval(secs => $3::float8 / 1000) else to_timestamp($3::float8 / 1000) end))
  and ($4::float8 is null or l.updated_at < (select case when $4::float8 < 0
    then regrow.clock() + make_interval(secs => $4::float8 / 1000) else to_timestamp($4::float8 / 1000) end))
  and ($5::text is null or l.version = $5::text)
  and ($6::text is null or (l.job, l.key) > ($6::text, $7::text))
order by l.job, l.key
limit $8::int
