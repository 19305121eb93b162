-- No progress: runs ended well, and their rows are still pending. Where no version tells new work from old, they are counted
-- with the sweep of their job. $1 job · $2 how many
update regrow.sweeps set stalled = stalled + $2::int8 where job = $1::text
