-- What the catalog says of a table and its state column, as JSON; no row when there is no such table.
-- $1 table as a user writes it: its name, schema.name, or SQL with quotes; $2 column.
-- The exact name comes first, then what SQL would make of it without quotes. Columns by attnum; a default is told only where
-- evaluating it does nothing else (no function but now()).
with recursive found as (
  select coalesce(
    to_regclass(format('%I', $1::text)),
    case when strpos($1::text, '.') > 1 then to_regclass(format('%I.%I', split_part($1::text, '.', 1),
      substr($1::text, strpos($1::text, '.') + 1))) end,
    case when $1::text ~ '^("([^"]|"")+"|[[:alpha:]_][[:alnum:]_$]*)(\.("([^"]|"")+"|[[:alpha:]_][[:alnum:]_$]*))?$'
      then to_regclass($1::text) end
  )::oid as oid
),
state as (
  select a.* from found join pg_attribute a on a.attrelid = found.oid
  where a.attnum > 0 and not a.attisdropped and a.attname in ($2::text, lower($2::text))
  order by a.attname = $2::text desc limit 1
),
types as (
  select t.oid, t.typtype, t.typbasetype, t.typnotnull, 0 as depth from state join pg_type t on t.oid = state.atttypid
  union all
  select t.oid, t.typtype, t.typbasetype, t.typnotnull, d.depth + 1 from types d join pg_type t on t.oid = d.typbasetype
  where d.typtype = 'd'
),
base as (select * from types order by depth desc limit 1),
family as (
  select oid from found where oid is not null
  union
  select i.inhrelid from family f join pg_inherits i on i.inhparent = f.oid
)
select json_build_object(
  'schema', n.nspname,
  'table', c.relname,
  'column', state.attname,
  'type', format_type(state.atttypid, -1),
  'base', (select format_type(base.oid, -1) from base),
  'nullable', not state.attnotnull and not exists (select 1 from types where typnotnull),
  'labels', (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e join base on e.enumtypid = base.oid),
  'checks', (
    select json_agg(json_build_object('name', case when k.contypid <> 0 then 'value' else state.attname end,
      'condition', pg_get_expr(k.conbin, k.conrelid)))
    from pg_constraint k
    where k.contype = 'c' and k.convalidated
      and (k.conrelid = c.oid and k.conkey = array[state.attnum] or k.contypid in (select oid from types))
  ),
  'columns', (
    select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, -1),
      'required', a.attnotnull, 'listed', y.typtype = 'e',
      'standard', case when a.attgenerated = '' and replace(pg_get_expr(d.adbin, d.adrelid), 'now()', '') !~ '[(]' then
        pg_get_expr(d.adbin, d.adrelid) end) order by a.attnum)
    from pg_attribute a join pg_type y on y.oid = a.atttypid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  ),
  'key', (
    select json_agg(a.attname order by array_position(i.indkey::int2[], a.attnum))
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey::int2[])
    where i.indrelid = c.oid and i.indisprimary
  ),
  'family', (
    select json_agg(json_build_array(m.nspname, r.relname))
    from family f join pg_class r on r.oid = f.oid join pg_namespace m on m.oid = r.relnamespace
  ),
  'indexed', exists (
    select 1 from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
    where i.indrelid = c.oid and i.indkey[0] = state.attnum and i.indisvalid and i.indpred is null and m.amname = 'btree'
  )
)::text as facts
from found join pg_class c on c.oid = found.oid join pg_namespace n on n.oid = c.relnamespace
  left join state on true
