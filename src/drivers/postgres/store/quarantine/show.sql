-- Show: one quarantined key with its whole error and, when it has one, its intent. $1 job · $2 key
select l.job, l.key, l.version, l.failures, l.crashes, l.error, (extract(epoch from l.updated_at) * 1000)::float8 as since_ms,
  n.input::text as input, (extract(epoch from n.created_at) * 1000)::float8 as created_ms,
  coalesce(n.unique_key, n.started_key) as unique_key, -- since 9
  n.unique_key, -- before 9
  (extract(epoch from n.run_at) * 1000)::float8 as run_ms
from regrow.ledger l
left join regrow.intents n on n.job = l.job
  and n.id = case when l.key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then l.key::uuid end
where l.key = $2::text and l.job = $1::text and l.state = 'quarantined'
