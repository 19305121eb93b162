// regrow cut down to the bone, as a map: one job, one key, PGlite, and a queue that is a Set. It imports nothing of regrow.
// Each file is a step of the diagram in ARCHITECTURE.md. Here 30 orders are paid while the queue is flushed and a worker dies.
// Start it with: node --import jiti/register examples/skeleton/main.ts
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { declare } from './declare.ts'
import { enqueue } from './enqueue.ts'
import { Queue } from './queue.ts'
import { createTables } from './store.ts'
import { sweeping } from './sweep.ts'
import { Worker } from './worker.ts'

const db = new PGlite()
await createTables(db)
await db.exec(`
  create table orders (id int primary key, state text not null);
  create table shipments (order_id int not null)`)

const queue = new Queue()
const job = declare({
  name: 'order.ship',
  pending: `select id::text as key from orders where state = 'paid'`,
  async run(key, tx) {
    await sleep(20)
    await tx(async (db) => {
      await db.query('insert into shipments values ($1::int)', [key])
      await db.query(`update orders set state = 'shipped' where id = $1::int`, [key])
    })
  },
})

const stopSweeping = sweeping({ db, queue, job })
const first = new Worker({ db, queue, job, concurrency: 4 })
let second: Worker | undefined

for (let id = 1; id <= 30; id++) {
  await db.query(`insert into orders values ($1, 'paid')`, [id]) // the truth
  if (id % 3 > 0) enqueue(queue, job, String(id)) // only for speed; every third order is left to the sweep
  if (id === 10) queue.flush()
  if (id === 20) {
    first.die() // with four orders in its hands: it neither ends them nor gives them back
    second = new Worker({ db, queue, job, concurrency: 4 })
  }
  await sleep(5)
}

const count = async (of: string) =>
  Number((await db.query<{ n: number }>(`select count(*) as n from ${of}`)).rows[0]?.n)
const deadline = performance.now() + 20_000
while ((await count(`orders where state = 'paid'`)) > 0 && performance.now() < deadline) await sleep(20)

await second?.stop()
await stopSweeping()
assert.equal(await count(`orders where state = 'shipped'`), 30, 'every order is shipped')
assert.equal(await count('shipments'), 30, 'and none twice')
assert.equal(await count('ledger'), 0, 'the ledger forgets what is done')
await db.close()
console.log(`30 orders shipped once each, though the queue was flushed and a worker died with some of them`)
