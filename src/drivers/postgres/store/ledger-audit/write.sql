-- Audit, write: forgets keys that are long gone, and notes which were not pending for the first time, or are again.
-- $1 job · $2 json { forget, unseen, seen: [key] }
-- Returns the keys forgotten. Looked at once more here: nobody has it, it waits, and an audit had noted it before.
-- Rows are locked in key order (M30).
with said as materialized (
  select v.key, w.word from jsonb_each($2::text::jsonb) as w(word, list)
  cross join lateral jsonb_array_elements_text(w.list) as v(key)
),
held as materialized (
  select s.key, s.word from (select key, word from said order by key collate "C") s
  cross join lateral (
    select 1 from regrow.ledger l
    where l.key = s.key and l.job = $1::text and l.holder is null and l.state = 'retrying'
      and (s.word <> 'forget' or l.unseen_at is not null)
    for update
  ) h
),
noted as (
  update regrow.ledger l set unseen_at = case when f.word = 'unseen' then regrow.clock() end
  -- As arrays, for the plan: see free.sql.
  from unnest((select array_agg(key) from held where word <> 'forget'), (select array_agg(word) from held where word <> 'forget'))
    as f(key, word)
  where l.key = f.key and l.job = $1::text
)
delete from regrow.ledger l using unnest((select array_agg(key) from held where word = 'forget')) as f(key)
where l.key = f.key and l.job = $1::text
returning l.key
