-- Declare: every job has a sweep row from the first start on; it is due at once. $1 json [{ job, every_ms }]
insert into regrow.sweeps as s (job, next_at
  , every_ms
)
select job, regrow.clock()
  , every_ms
from jsonb_to_recordset($1::text::jsonb) as x(job text, every_ms int8) order by job
on conflict (job) do
  update set every_ms = excluded.every_ms where s.every_ms is distinct from excluded.every_ms
