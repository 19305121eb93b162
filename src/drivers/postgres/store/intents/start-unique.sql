-- Start unique: intents with a unique key are about to run and give it up, so that an input enqueued from now on is work of its own.
-- $1 job · $2 ids, an array as text; the caller holds the claims of all of them and has started none.
-- Returns one row: `ids`, those that may start. An intent waits while another one of the same text is claimed: they run one after the
-- other, and a claim ends with its worker, so nothing is held past a crash. It also waits while an open transaction holds its row
-- (hold-merged.sql): an input was merged into it that nobody can see yet. Of several in one call the first may start.
-- No row is waited for, so writers in another order cannot deadlock with it (M30).
-- Index: intents_pkey, intents_unique, intents_started, ledger_pkey.
with mine as materialized (
  select n.id,
    coalesce(n.unique_key, n.started_key) as text -- since 9
    n.unique_key as text -- before 9
  from regrow.intents n
  where n.id = any ($2::text::uuid[]) and n.job = $1::text
  order by n.id for update skip locked
),
ready as materialized (
  select m.id from mine m
  where not exists (
    select 1 from regrow.intents o
    where o.job = $1::text and o.unique_key = m.text and o.id <> m.id and not (o.id > m.id and o.id = any ($2::text::uuid[]))
      and exists (select 1 from regrow.ledger l where l.key = o.id::text and l.job = $1::text and l.holder is not null offset 0)
  )
  and not exists ( -- since 9
    select 1 from regrow.intents o -- since 9
    where o.job = $1::text and o.started_key = m.text and o.id <> m.id and not (o.id > m.id and o.id = any ($2::text::uuid[])) -- since 9
      and exists (select 1 from regrow.ledger l where l.key = o.id::text and l.job = $1::text and l.holder is not null offset 0) -- since 9
  ) -- since 9
),
started as (
  update regrow.intents n set unique_key = null
    , started_key = n.unique_key -- since 9
  where n.id = any (array(select id from ready)) and n.unique_key is not null
)
select string_agg(id::text, ',') as ids from ready
