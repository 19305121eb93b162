-- Open writers: transactions that have written to the intents and have not ended, the oldest first.
-- Returns the process (null: a prepared transaction, which has none), its application, its state, and for how many ms it is open.
-- Of another role's process only the number can be seen, unless this role may read all statistics.
select l.pid, nullif(a.application_name, '') as application, a.state,
  (extract(epoch from clock_timestamp() - a.xact_start) * 1000)::float8 as open_ms
from pg_locks l left join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'relation' and l.relation = 'regrow.intents'::regclass and l.granted and l.pid is distinct from pg_backend_pid()
  and l.database = (select oid from pg_database where datname = current_database())
  and l.mode not in ('AccessShareLock', 'RowShareLock')
group by 1, 2, 3, a.xact_start
order by a.xact_start nulls last
limit 3
