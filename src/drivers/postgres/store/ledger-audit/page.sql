-- Audit, page: what the ledger holds of a job, in the order of keys.
-- $1 job · $2 after this key, or null · $3 rows at most
-- Index: ledger_pkey in its order. It passes the keys of other jobs on its way: slow, and rare.
select l.key, l.holder is null and l.state = 'retrying' as waiting,
  (extract(epoch from env.at - l.updated_at) * 1000)::float8 as idle_ms,
  (extract(epoch from env.at - l.unseen_at) * 1000)::float8 as unseen_ms
from regrow.ledger l cross join (select regrow.clock() as at) env
where l.job = $1::text and ($2::text is null or l.key > $2::text)
order by l.key
limit $3::int
