// The queue in Redis: an enqueue wakes an idle worker, and hints that somebody flushes grow back. It uses a namespace of its
// own at REDIS_URL (redis://127.0.0.1:6379 without it) and leaves nothing there.
// Start it with: node --import jiti/register examples/redis/main.ts
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import { createClient } from '@redis/client'
import { type App, regrow, sql } from 'regrow'
import { pglite } from 'regrow/pglite'
import { redis } from 'regrow/redis'

const url = process.env.REDIS_URL || 'redis://127.0.0.1:6379'
const namespace = `example-${randomUUID().slice(0, 8)}`
const client = createClient({ url, socket: { reconnectStrategy: false } })
client.on('error', () => {})
await client.connect().catch((error: Error) => {
  console.error(`No Redis to be had (${error.message}). Start one, or set REDIS_URL=redis://user:password@host:port`)
  process.exit(1)
})

const db = new PGlite() // the truth. A real application has a Postgres server here: postgres(url)
await db.exec(`create table orders (id int primary key, state text not null default 'paid')`)

// An address would do: redis(url, { namespace }). Of a client only the settings are used, for connections of regrow's own.
const app = regrow({ store: pglite(db), queue: redis(client, { namespace }) })

/** Handlers wait here, so that hints are in the queue when it is flushed. */
let letGo = () => {}
const gate = new Promise<void>((resolve) => {
  letGo = resolve
})
const ship = app.job('order.ship', {
  key: 'int',
  pending: sql`select id from orders where state = 'paid'`,
  sweep: { every: '1h' }, // what brings the hints back here is the loss itself, not the hourly pass
  async run(id, ctx) {
    if (id > 1) await gate
    await ctx.tx(sql`update orders set state = 'shipped' where id = ${id}`)
  },
})

const started = counted(app, 'job.started')
const lost = counted(app, 'queue.lost')
const worker = app.work({ concurrency: 4 })
await worker.ready

await db.exec(`insert into orders (id) values (1)`)
const began = performance.now()
await ship.enqueue(1) // the worker is idle, and is woken
await started(1)
console.log(`order 1: begun after ${Math.round(performance.now() - began)} ms`)

await db.exec(`insert into orders (id) select n from generate_series(2, 40) n`)
await ship.enqueueMany(Array.from({ length: 39 }, (_, i) => i + 2))
const keys = await ours()
console.log(`39 orders enqueued, 4 at a time may run; in Redis: ${keys.map((key) => key.split(':')[1]).join(', ')}`)

await client.unlink(keys) // a FLUSHALL, if we were alone on this server
await lost(1)
console.log('all of it was deleted; the worker noticed, and sweeps')
letGo()
await worker.stop()
await app.drain() // what the worker has left
const { rows } = await db.query(`select state, count(*)::int as n from orders group by state`)
await app.close()
await db.close()
await client.unlink(await ours())
client.destroy()

assert.deepEqual(rows, [{ state: 'shipped', n: 40 }], 'every order is shipped')
console.log('40 orders shipped, though the hints of most were deleted')

/** Keys of our namespace, a step at a time: KEYS would keep everybody else on that server waiting. */
async function ours(): Promise<string[]> {
  const found: string[] = []
  for await (const some of client.scanIterator({ MATCH: `{${namespace}}:*`, COUNT: 1_000 })) found.push(...some)
  return found.sort()
}

/** A function that waits until an event has happened so many times. */
function counted(app: App, event: 'job.started' | 'queue.lost') {
  let seen = 0
  let heard = () => {}
  app.on(event, () => {
    seen++
    heard()
  })
  return async (times: number) => {
    while (seen < times)
      await new Promise<void>((resolve) => {
        heard = resolve
      })
  }
}
