-- Free: ends the claims of holders that no longer live; each counts as a crash of its key. $1 lease in ms
-- Returns the freed (job, key).
-- Claims of a holder without a worker row are freed too: its take may have committed after its row was removed.
with dead as materialized (
  select id from regrow.workers where beat_at < regrow.clock() - make_interval(secs => $1::float8 / 1000)
  order by id for update skip locked
),
removed as (delete from regrow.workers w using dead where w.id = dead.id),
lost as materialized (
  select l.job, l.key from regrow.ledger l
  where l.holder is not null
    and (l.holder in (select id from dead) or not exists (select 1 from regrow.workers w where w.id = l.holder))
  order by l.key, l.job for update of l skip locked
)
update regrow.ledger l set holder = null, take = null, state = 'retrying', crashes = l.crashes + 1
from lost where l.key = lost.key and l.job = lost.job
returning l.job, l.key
