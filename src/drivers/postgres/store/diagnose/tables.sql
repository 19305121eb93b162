-- Examine tables: size, columns and indexes of tables that a plan names. $1 json [{ schema, name }]
-- An index on a partition belongs to the table that it is a part of. What was never analyzed has no count of rows: then it is
-- guessed from the bytes, at a hundred to the row. Statistics are looked for where every role may look: pg_stats shows those of
-- tables that it may read, and the times of an analysis are open to all.
select n.nspname as schema, c.relname as name, rn.nspname as root_schema, r.relname as root_name, r.relkind = 'p' as partitioned,
  r.relkind in ('r', 'p', 'm') as indexable,
  (case when c.reltuples >= 0 then c.reltuples else pg_relation_size(c.oid) / 100 end)::float8 as rows,
  exists (select 1 from pg_catalog.pg_stats s where s.schemaname = n.nspname and s.tablename = c.relname)
    or coalesce(pg_stat_get_last_analyze_time(c.oid), pg_stat_get_last_autoanalyze_time(c.oid)) is not null as analyzed,
  (
    select json_object_agg(a.attname, format_type(a.atttypid, null)) from pg_catalog.pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  )::text as columns,
  (
    select json_agg(json_build_object('name', ic.relname, 'valid', i.indisvalid, 'where', pg_get_expr(i.indpred, i.indrelid),
      'columns', (select json_agg(pg_get_indexdef(i.indexrelid, k, true) order by k) from generate_series(1, i.indnkeyatts) k))
      order by ic.relname)
    from pg_catalog.pg_index i join pg_catalog.pg_class ic on ic.oid = i.indexrelid where i.indrelid = c.oid
  )::text as indexes
from jsonb_to_recordset($1::text::jsonb) as t(schema text, name text)
join pg_catalog.pg_namespace n on n.nspname = t.schema
join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.name
join pg_catalog.pg_class r on r.oid = coalesce(pg_partition_root(c.oid), c.oid)
join pg_catalog.pg_namespace rn on rn.oid = r.relnamespace
