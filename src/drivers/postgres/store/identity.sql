-- Identity: which store this is. The random id was made with its tables; a copy of the database on another server, or under
-- another name, is another store.
select concat_ws(' ', (select value from regrow.meta where name = 'identity'), c.system_identifier, current_database()) as identity
from pg_control_system() c
