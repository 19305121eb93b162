-- Leave: a worker that stops takes its row with it. $1 holder
delete from regrow.workers where id = $1::text
