-- Clear: a different non-null version is new work; forgets back-off and quarantine of the old one.
-- $1 json [{ job, key, version }] with the version that the source shows now
-- Returns the cleared (job, key). Claims that are held are left alone.
with held as materialized (
  select i.job, i.key from (
    select job, key, version from jsonb_to_recordset($1::text::jsonb) as x(job text, key text, version text)
    order by key collate "C", job
  ) i
  cross join lateral (
    select 1 from regrow.ledger l
    where l.key = i.key and l.job = i.job and l.holder is null and l.version <> i.version
    for update
  ) h
)
delete from regrow.ledger l using held h where l.key = h.key and l.job = h.job
returning l.job, l.key
