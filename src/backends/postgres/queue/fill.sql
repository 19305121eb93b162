-- Fill: a page of pending rows becomes hints of the swept lane, and no key leaves the server. :page is the source's query of
-- (place, key, version, since, at, renewed, wait_ms, eligible), whose parameters come first; :1 is the first one after those.
-- :1 job · :2 epoch, as in push.sql · :3 room in the lane
-- Rows with facts are not for this statement (later than now, or in another version than the one that failed): they are told.
-- Returns one row: scanned, last, oldest_ms, eligible, added, dropped, meant, rows: json [[key, version, wait_ms, renewed]]
-- of those with facts, and sample: json [key] of a few others.
-- Hints that are there are looked up one by one (:look, nothing where all are expected to be new), and rows are written in key
-- order: see push-lane.sql.
with page as materialized (
:page
),
env as materialized (
  select regrow.clock() as at,
    :2::text is null or exists (select 1 from regrow.canary c where c.one and c.epoch = :2::text::int8) as meant
),
put as (
  insert into regrow.hints (job, key, due_at, fresh)
  select :1::text, p.key, env.at, false from page p cross join env
  where env.meant and p.eligible and p.wait_ms = 0 and not p.renewed :look
  order by p.key collate "C" limit :3::int8
  :conflict
  returning 1
),
added as materialized (
  select count(*)::int as count from put
),
seen as materialized (
  select count(*)::int as scanned, (count(*) filter (where eligible))::int as eligible,
    extract(epoch from max(at) - min(since) filter (where eligible and since <= at)) * 1000 as oldest_ms
  from page
)
select seen.scanned, seen.eligible, seen.oldest_ms::float8 as oldest_ms, added.count as added, env.meant,
  (select key from page where place = seen.scanned) as last,
  case when added.count < :3::int8 or not env.meant then 0 else (
    select count(*) from page p where p.eligible and p.wait_ms = 0 and not p.renewed
      and (select true from regrow.hints h where h.key = p.key and h.job is not distinct from :1::text) is null
  ) - added.count end::int as dropped,
  (select json_agg(json_build_array(key, version, wait_ms, renewed) order by place) from page
    where eligible and (wait_ms > 0 or renewed))::text as rows,
  (select json_agg(key) from page
    where place % greatest(seen.scanned / 32, 1) = 0 and eligible and wait_ms = 0 and not renewed)::text as sample,
  case when added.count > 0 then pg_notify('regrow_hints', :1::text)::text end as told
from added cross join env cross join seen
