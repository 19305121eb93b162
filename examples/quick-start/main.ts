// regrow in a few lines: one job, one row that is enqueued and one that is not. Both run.
// Start it with: node --import jiti/register examples/quick-start/main.ts
import { randomUUID } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import { regrow, sql } from 'regrow'
import { pglite } from 'regrow/pglite'

const db = new PGlite() // your database; this one is inside the process and in memory
await db.exec(`create table databases (id uuid primary key, state text not null default 'pending')`)

const app = regrow({ store: pglite(db) }) // on Postgres: postgres(process.env.DATABASE_URL)

const createDatabase = app.job('database.create', {
  key: 'uuid',
  pending: sql`select id from databases where state = 'pending'`, // what work is there? ask the database
  sweep: { every: '1s' }, // the safety net; the default is a minute
  async run(id, ctx) {
    // Effect and outcome commit together: it happens once, whoever crashes.
    await ctx.tx(sql`update databases set state = 'ready' where id = ${id}`)
  },
})

const worker = app.work({ concurrency: 5 })
await worker.ready

async function order({ enqueue }: { enqueue: boolean }): Promise<void> {
  const id = randomUUID()
  const began = performance.now()
  const ready = new Promise<void>((resolve) => app.on('job.settled', ({ key }) => key === id && resolve()))
  await db.query(`insert into databases (id) values ($1)`, [id])
  if (enqueue) await createDatabase.enqueue(id) // only for speed
  await ready
  console.log(`${enqueue ? 'enqueued' : 'never enqueued'}: ready after ${Math.round(performance.now() - began)} ms`)
}

await order({ enqueue: true })
await order({ enqueue: false })
await worker.stop()
await app.close()
await db.close()
