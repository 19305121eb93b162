-- Count errors: quarantined keys by job and by what their errors have in common. Parameters 1 to 5 as in list-quarantine.sql
-- $6 groups at most. Index: ledger_quarantined.
-- An error is its first line: what differs from key to key is replaced, so that a thousand failures of one kind are one line.
with found as materialized (
  select l.job, l.key, l.updated_at,
    regexp_replace(regexp_replace(regexp_replace(
      left(split_part(coalesce(l.error, ''), E'\n', 1), 500),
      '[^\s<>''"=:,;()]+@[^\s<>''"=:,;()]+\.[A-Za-z]+', '<address>', 'g'),
      '\m([0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{12,})\M', '<id>', 'gi'),
      '[0-9]+', '<n>', 'g') as error
  from regrow.ledger l
  where l.state = 'quarantined' and ($1::text is null or l.job = $1::text)
    and ($2::text is null or strpos(lower(l.error), lower($2::text)) > 0)
    and ($3::float8 is null or l.updated_at >= (select case when $3::float8 < 0
    then regrow.clock() + make_interval(secs => $3::float8 / 1000) else to_timestamp($3::float8 / 1000) end))
    and ($4::float8 is null or l.updated_at < (select case when $4::float8 < 0
    then regrow.clock() + make_interval(secs => $4::float8 / 1000) else to_timestamp($4::float8 / 1000) end))
    and ($5::text is null or l.version = $5::text)
)
select job, error, count(*)::float8 as count, min(key) as key,
  (extract(epoch from min(updated_at)) * 1000)::float8 as first_ms, (extract(epoch from max(updated_at)) * 1000)::float8 as last_ms
from found group by job, error
order by count(*) desc, job, error
limit $6::int
