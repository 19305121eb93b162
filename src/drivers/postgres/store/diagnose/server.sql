-- Examine server: what the database is, and what this user lacks to work in it. Names none of regrow's tables, so it works
-- before they are there. Sessions are counted by database: who may not see those of others would count too few.
select current_user::text as "user", current_setting('server_version_num')::int as version,
  pg_is_in_recovery() as replica, current_setting('transaction_read_only') = 'on' as read_only,
  (select sum(numbackends) from pg_catalog.pg_stat_database)::int as open,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
  (
    select json_agg(r.name || ' on ' || c.relname order by c.relname, r.name)
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    cross join (values ('select'), ('insert'), ('update'), ('delete')) as r(name)
    where n.nspname = 'regrow' and c.relkind = 'r'
      and not (has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, r.name))
  )::text as lacking
