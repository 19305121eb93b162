-- Note drain: when jobs were drained last, one row of `meta` for each; in order of their names, as others may note the same ones (M30).
-- $1 json of the names
insert into regrow.meta (name, value)
select 'drained ' || j.name, (extract(epoch from (select regrow.clock())) * 1000)::bigint::text
from json_array_elements_text($1::text::json) as j(name) order by j.name collate "C"
on conflict (name) do update set value = excluded.value
