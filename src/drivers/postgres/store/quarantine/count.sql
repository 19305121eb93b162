-- Count quarantine: how many quarantined keys of each job a filter finds. Parameters 1 to 5 as in list-quarantine.sql
-- Index: ledger_quarantined.
select l.job, count(*)::float8 as count
from regrow.ledger l
where l.state = 'quarantined' and ($1::text is null or l.job = $1::text)
  and ($2::text is null or strpos(lower(l.error), lower($2::text)) > 0)
  and ($3::float8 is null or l.updated_at >= (select case when $3::float8 < 0
    then regrow.clock() + make_interval(secs => $3::float8 / 1000) else to_timestamp($3::float8 / 1000) end))
  and ($4::float8 is null or l.updated_at < (select case when $4::float8 < 0
    then regrow.clock() + make_interval(secs => $4::float8 / 1000) else to_timestamp($4::float8 / 1000) end))
  and ($5::text is null or l.version = $5::text)
group by l.job order by l.job
