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
  async run(id, ctx) {
    // Effect and outcome commit together: it happens once, whoever crashes.
    await ctx.tx(sql`update databases set state = 'ready' where id = ${id}`)
  },
})

const [first, second] = [randomUUID(), randomUUID()]
await db.query(`insert into databases (id) values ($1), ($2)`, [first, second])
await createDatabase.enqueue(first) // only for speed
// Nobody enqueues the second one: a sweep finds its row.

const { runs, swept } = await app.drain() // runs what is due, and returns; a service calls app.work()
console.log(`${runs} databases are ready; ${swept} of them was never enqueued`)
await app.close()
await db.close()
