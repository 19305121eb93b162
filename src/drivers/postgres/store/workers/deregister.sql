-- Leave: a worker that stops takes its row with it, and gives up the sweep turns it still has. $1 holder
with turns as (
  update regrow.sweeps set holder = null, until = null where holder = $1::text
)
delete from regrow.workers where id = $1::text
