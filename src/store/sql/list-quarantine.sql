-- List quarantine: a page of keys that failed for good, by job and key.
-- $1 job, null: of all · $2, $3 job and key of the last row of the page before, null: the first page · $4 rows
-- Index: ledger_quarantined (job, key). Errors are cut: a page of whole ones would be megabytes.
select l.job, l.key, l.version, l.failures, l.crashes, left(l.error, 300) as error,
  (extract(epoch from l.updated_at) * 1000)::float8 as since_ms
from regrow.ledger l
where l.state = 'quarantined' and ($1::text is null or l.job = $1::text)
  and ($2::text is null or (l.job, l.key) > ($2::text, $3::text))
order by l.job, l.key
limit $4::int
