-- Release: gives claims back; nothing is counted, and of a key without a past nothing stays.
-- $1 holder · $2 json [{ job, key, take }]
-- Only where holder and take match (S3). Rows are locked in key order (M30).
with held as materialized (
  select l.job, l.key, l.failures + l.crashes = 0 as blank from regrow.ledger l
  join jsonb_to_recordset($2::text::jsonb) as x(job text, key text, take int8)
    on l.key = x.key and l.job = x.job and l.take = x.take
  where l.holder = $1::text order by l.key, l.job for update of l
),
gone as (delete from regrow.ledger l using held h where h.blank and l.key = h.key and l.job = h.job)
update regrow.ledger l set holder = null, take = null, state = 'retrying'
from held h where not h.blank and l.key = h.key and l.job = h.job
