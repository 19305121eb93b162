-- Unique holders: which intents hold these unique keys now. $1 job · $2 json [unique key]
-- Asked after a record that met a unique key which its snapshot did not show yet: somebody recorded it just now.
select unique_key, id::text as id from regrow.intents
where job = $1::text and unique_key = any (array(select jsonb_array_elements_text($2::text::jsonb)))
