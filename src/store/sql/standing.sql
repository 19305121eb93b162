-- Standing: what the ledger says of keys; for sources that Postgres cannot join with it.
-- $1 job · $2 json [key]
select l.key, l.holder is not null as live, l.state = 'quarantined' as quarantined, l.version,
  coalesce(extract(epoch from l.retry_at - (select regrow.clock())) * 1000, 0)::float8 as wait_ms
from jsonb_array_elements_text($2::text::jsonb) as i(key)
cross join lateral (
  select * from regrow.ledger b where b.key = i.key and b.job = $1::text offset 0
) l
