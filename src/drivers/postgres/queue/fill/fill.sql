-- Fill: a page of pending rows becomes hints of the swept lane, and no key leaves the server. :page is the source's query of
-- (place, key, version, since, at, renewed, wait_ms, eligible), whose parameters come first; :1 is the first one after those.
-- A row whose `eligible` is null cannot be a key: it is counted, and the beginning of one of them is told.
-- :1 job · :2 epoch, as in push.sql · :3 room in the lane · :4 rows that the page may have
-- Rows with facts are not for this statement (later than now, or in another version than the one that failed): they are told.
-- Returns one row: scanned, last (of a page that has as many as it may have), oldest_ms, eligible, unusable, unusable_key, added, dropped, meant, rows:
-- json [[key, version, wait_ms, renewed]] of those with facts, and sample: json [key] of a few others.
-- Hints that are there are looked up one by one (:look), and rows are written in key order: see push-lane.sql. Where all are expected
-- to be new, nothing is looked for, and what was written need not be counted: all of it, or a unique violation.
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
  :returning
),
seen as materialized (
  select count(*)::int as scanned, (count(*) filter (where eligible))::int as eligible, (count(*) - count(eligible))::int as unusable,
    count(*) filter (where eligible and wait_ms = 0 and not renewed) as plain,
    extract(epoch from max(at) - min(since) filter (where eligible and since <= at)) * 1000 as oldest_ms,
    max(key) filter (where place = :4::int8) as last,
    json_agg(json_build_array(key, version, wait_ms, renewed) order by place)
      filter (where eligible and (wait_ms > 0 or renewed)) as rows,
    json_agg(key) filter (where place % greatest(:4::int8 / 32, 1) = 0 and eligible and wait_ms = 0 and not renewed) as sample
  from page
),
added as materialized (
  select :added::int as count
)
select seen.scanned, seen.eligible, seen.unusable,
  case when seen.unusable > 0 then (select left(p.key, 60) from page p where p.eligible is null limit 1) end as unusable_key,
  seen.oldest_ms::float8 as oldest_ms, added.count as added, env.meant, seen.last,
  case when added.count < :3::int8 or not env.meant then 0 else (
    select count(*) from page p where p.eligible and p.wait_ms = 0 and not p.renewed
      and (
        select true from regrow.hints h
        where octet_length(h.key) = octet_length(p.key) and h.key = p.key and h.job is not distinct from :1::text
      ) is null
  ) - added.count end::int as dropped,
  seen.rows::text as rows, seen.sample::text as sample,
  case when added.count > 0 then pg_notify('regrow_hints', :1::text)::text end as told
from added cross join env cross join seen
