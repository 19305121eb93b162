-- Standing: what the ledger says of keys; for sources that Postgres cannot join with it.
-- $1 job · $2 json [key]
select l.key, l.holder is not null as live, l.state = 'quarantined' as quarantined, l.version,
  -- A row that was written by a clock that is set back since waits no longer, nor one without an end (L10).
  case when l.updated_at <= env.at + interval '10 seconds' and l.retry_at <= env.at + interval '200 years'
    then extract(epoch from greatest(l.retry_at, env.at) - env.at) * 1000 else 0 end::float8 as wait_ms
from (select regrow.clock() as at) env cross join jsonb_array_elements_text($2::text::jsonb) as i(key)
cross join lateral (
  select * from regrow.ledger b where b.key = i.key and b.job = $1::text offset 0
) l
