-- Late intents: which ones hold these unique keys now, and whose these ids are.
-- $1 job · $2 json [unique key] · $3 json [id]
-- Asked after a record that met what its snapshot did not show yet: somebody recorded it just now.
-- `job` only where the row tells whose its id is.
select id::text as id, unique_key, null as job from regrow.intents
where job = $1::text and unique_key = any (array(select jsonb_array_elements_text($2::text::jsonb)))
union all
select id::text as id, null as unique_key, job from regrow.intents
where id = any (array(select jsonb_array_elements_text($3::text::jsonb)::uuid))
