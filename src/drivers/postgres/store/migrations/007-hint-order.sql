-- Hints by the length of their key first. Ids count up, but as texts '10' stands before '9': by the key alone each push is written
-- into the middle of the index, whose pages are torn in two and stay half empty. By length and key it is written at the end.
drop index if exists regrow.hints_key;

create unique index if not exists hints_key on regrow.hints (octet_length(key), key, job collate "POSIX") with (fillfactor = 100);

-- Written at its end as well: no room is left for what would come in between.
alter index if exists regrow.hints_due set (fillfactor = 100);
