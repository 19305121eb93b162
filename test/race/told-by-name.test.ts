// Hints that are told by name, with whole workers: several idle ones hear of the same push, one of them takes it out, and nobody
// else has anything to do with it.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/backends/postgres/index.ts'
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

/** A worker that is idle: the sweep that it begins with is over, and it rests at its bell. */
async function idleWorker(started: (id: bigint) => void) {
  const { app, row } = declare()
  const refused: string[] = []
  app.on('hint.refused', ({ key, why }) => void refused.push(`${key} ${why}`))
  const swept = new Promise((resolve) => app.on('sweep.passed', resolve))
  const handler = row.handle(async (id, ctx) => {
    started(id)
    await ctx.tx((tx) => tx.query(`update rows set state = 'done', runs = runs + 1 where id = $1`, [String(id)]))
  })
  const worker = app.work({ handlers: [handler] })
  open.push({ close: () => worker.stop() })
  await worker.ready
  return { refused, swept }
}

const sleepers = async () =>
  (
    await db.query(`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and query ~ '^(listen|select 1$)' and state = 'idle'`)
  ).rows[0].count

test('each of many pushes, one by one, is run once, by whichever worker is first, and refused by none', async () => {
  const count = 60
  await db.query(`insert into rows select n, 'waiting' from generate_series(1, ${count}) n`)
  const sender = declare()
  const starts = new Map<bigint, number>()
  let begun: () => void = () => {}
  const started = (id: bigint) => {
    starts.set(id, (starts.get(id) ?? 0) + 1)
    begun()
  }
  const workers = [await idleWorker(started), await idleWorker(started), await idleWorker(started)]
  await workers[0]?.swept
  await expect.poll(sleepers, { timeout: 20_000 }).toBeGreaterThanOrEqual(3)
  for (let id = 1n; id <= count; id++) {
    await db.query(`update rows set state = 'pending' where id = $1`, [String(id)])
    const start = new Promise<void>((resolve) => (begun = resolve))
    await sender.row.enqueue(id)
    await start
  }
  const left = async () => (await db.query(`select count(*)::int as n from rows where state <> 'done'`)).rows[0].n
  await expect.poll(left, { timeout: 20_000 }).toBe(0)
  expect([...starts.values()]).toEqual(Array(count).fill(1))
  expect((await db.query('select max(runs)::int as most from rows')).rows).toEqual([{ most: 1 }])
  expect(workers.flatMap(({ refused }) => refused)).toEqual([])
  expect((await db.query('select count(*)::int as n from regrow.hints')).rows).toEqual([{ n: 0 }])
})
