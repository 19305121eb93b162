-- Examine: how large the table of hints is, and how many it holds, counted up to a million.
-- Reads the table once, as far as that: for a person, not for a loop.
select pg_total_relation_size('regrow.hints')::float8 as bytes,
  (select count(*) from (select 1 from regrow.hints limit 1000000) x)::float8 as hints
