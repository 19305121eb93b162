// Hints that are told by name, with whole workers: several idle ones hear of the same push, one of them takes it out, and nobody
// else has anything to do with it.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let db: pg.Client
const open: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  database = await freshDatabase('named')
  db = new pg.Client({ connectionString: database.url })
  await db.connect()
  await db.query(`create table rows (id bigint primary key, state text not null, runs int not null default 0)`)
})
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})
afterAll(async () => {
  await db.end()
  await database.drop()
})

function declare() {
  const app = regrow({ store: postgres(database.url) })
  const row = app.job('row', { key: 'bigint', pending: sql`select id from rows where state = 'pending'` })
  open.push(app)
  return { app, row }
}

/** A worker that will be idle: no row is pending. */
async function idleWorker(started: (id: bigint) => void) {
  const { app, row } = declare()
  const refused: string[] = []
  app.on('hint.refused', ({ key, why }) => void refused.push(`${key} ${why}`))
  const handler = row.handle(async (id, ctx) => {
    started(id)
    await ctx.tx((tx) => tx.query(`update rows set state = 'done', runs = runs + 1 where id = $1`, [String(id)]))
  })
  const worker = app.work({ handlers: [handler] })
  open.push({ close: () => worker.stop() })
  await worker.ready
  return { refused }
}

/** The store has heard of the queue: who saw it first has made the sweeps due, and nobody does so again. */
async function known() {
  const { app, row } = declare()
  const worker = app.work({ handlers: [row.handle(() => {})] })
  await worker.ready
  await expect.poll(() => count(`regrow.marks`), { timeout: 20_000 }).toBe(1)
  await worker.stop()
}

const count = async (what: string) => (await db.query(`select count(*)::int as n from ${what}`)).rows[0].n

const dueSweeps = () =>
  count(`regrow.sweeps where job = 'row' and (holder is not null or next_at < now() + interval '10 s')`)

const sleepers = async () =>
  (
    await db.query(`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and query ~ '^(listen|select 1$)' and state = 'idle'`)
  ).rows[0].count

test('each of many pushes, one by one, is run once, by whichever worker is first, and refused by none', async () => {
  const keys = 60
  await db.query(`insert into rows select n, 'waiting' from generate_series(1, ${keys}) n`)
  await known()
  const sender = declare()
  const starts = new Map<bigint, number>()
  let begun: () => void = () => {}
  const started = (id: bigint) => {
    starts.set(id, (starts.get(id) ?? 0) + 1)
    begun()
  }
  const workers = [await idleWorker(started), await idleWorker(started), await idleWorker(started)]
  // A sweep would hint what is pending for a moment, too.
  await expect.poll(dueSweeps, { timeout: 20_000 }).toBe(0)
  await expect.poll(sleepers, { timeout: 20_000 }).toBeGreaterThanOrEqual(3)
  for (let id = 1n; id <= keys; id++) {
    await db.query(`update rows set state = 'pending' where id = $1`, [String(id)])
    const start = new Promise<void>((resolve) => (begun = resolve))
    await sender.row.enqueue(id)
    await start
  }
  await expect.poll(() => count(`rows where state <> 'done'`), { timeout: 20_000 }).toBe(0)
  expect([...starts.values()]).toEqual(Array(keys).fill(1))
  expect((await db.query('select max(runs)::int as most from rows')).rows).toEqual([{ most: 1 }])
  expect(workers.flatMap(({ refused }) => refused)).toEqual([])
  expect(await count('regrow.hints')).toBe(0)
})
