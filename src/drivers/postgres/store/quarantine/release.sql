-- Release from quarantine: forgets that these keys failed, so that they are new. A person's act: it is in the audit.
-- $1 job · $2 json [key], each once · $3 author
-- Returns the keys that were quarantined. Rows are locked in key order (M30); durable when it is told.
with held as materialized (
  select i.key, h.failures, h.crashes, h.error from (
    select key from jsonb_array_elements_text($2::text::jsonb) as x(key) order by key collate "C"
  ) i
  cross join lateral (
    select l.failures, l.crashes, l.error from regrow.ledger l
    where l.key = i.key and l.job = $1::text and l.state = 'quarantined' and l.holder is null
    for update
  ) h
),
gone as (
  delete from regrow.ledger l using held h where l.key = h.key and l.job = $1::text
),
told as (
  insert into regrow.audit (at, author, action, job, detail)
  select regrow.clock(), $3::text, 'quarantine.release', $1::text,
    json_build_object('key', key, 'failures', failures, 'crashes', crashes, 'error', left(error, 300))::text
  from held
)
select key from held
