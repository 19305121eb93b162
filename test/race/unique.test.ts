// Unique: four apps on one Postgres enqueue the same few keys again and again; a key never runs twice at once, and every
// change of its row is run once.

import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pledge } from '../../src/base/deferred.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type Context, type Duration, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Seeded } from '../../src/testing/seeded.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

const seed = Date.now()
const random = new Seeded(seed)
console.log(`race for unique keys: seed ${seed}`)

let database: FreshDatabase
let pool: pg.Pool
const apps: App[] = []

beforeAll(async () => {
  database = await freshDatabase('race_unique')
  pool = new pg.Pool({ connectionString: database.url, max: 4 })
  // A database that is dropped ends what is still open.
  pool.on('error', () => {})
  await pool.query(`
    create table counters (id int primary key, wanted int not null, done int not null);
    create table effects (id int not null, done int not null)`)
  const app = regrow({ store: postgres(database.url) })
  await operate(app).migrate()
  await app.close()
})
beforeEach(() => pool.query(`truncate counters, effects, regrow.ledger, regrow.hints, regrow.workers, regrow.sweeps`))
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

type Unique = 'start' | 'success'
type Run = (id: number, ctx: Context) => Promise<unknown>

function open(uniqueUntil: Unique, every: Duration, run: Run) {
  const app = regrow({ store: postgres(database.url, { max: 3 }) })
  apps.push(app)
  const pending = sql`select id from counters where done < wanted`
  const job = app.job('counter.raise', { key: 'int', pending, uniqueUntil, sweep: { every }, run })
  return { app, job, ear: new Ear(app) }
}

/** All that is wanted is done, in one commit with the trace of it. */
const raise: Run = (id, ctx) =>
  ctx.tx(async (tx) => {
    const { rows } = await tx.query(`update counters set done = wanted where id = $1 returning done`, [id])
    await tx.query(`insert into effects values ($1, $2)`, [id, Number(rows[0]?.done)])
  })
const want = (id: number) => pool.query(`update counters set wanted = wanted + 1 where id = $1`, [id])
const numbers = async (text: string) => (await pool.query(text)).rows[0]

// Until its start, an enqueue is enough for every change. Until its success, those that come while it runs are the sweep's.
test.each([
  ['start', '1h'],
  ['success', '1s'],
] as const)(
  'unique until its %s: a key enqueued by four apps at once never runs twice at once',
  async (until, every) => {
    const keys = [1, 2, 3, 4, 5]
    await pool.query(`insert into counters select n, 0, 0 from generate_series(1, ${keys.length}) n`)
    const running = new Set<number>()
    let overlaps = 0
    let starts = 0
    const four = [1, 2, 3, 4].map(() =>
      open(until, every, async (id, ctx) => {
        starts++
        if (running.has(id)) overlaps++
        running.add(id)
        await wait(random.below(20))
        try {
          await raise(id, ctx)
        } finally {
          running.delete(id)
        }
      }),
    )
    const workers = four.map(({ app }) => app.work())
    await Promise.all(workers.map(({ ready }) => ready))
    const enqueue = async ({ job }: (typeof four)[number]) => {
      for (let round = 0; round < 60; round++) {
        const id = random.pick(keys)
        await want(id)
        await job.enqueue(id)
      }
    }
    await Promise.all(four.map(enqueue))
    while ((await numbers(`select count(*)::int as n from counters where done < wanted`)).n > 0)
      await pool.query(`select pg_sleep(0.05)`)
    await Promise.all(workers.map((worker) => worker.stop()))
    console.log(`unique until ${until}: 240 enqueues, ${starts} starts, ${overlaps} overlaps`)
    expect(overlaps).toBe(0)
    expect(await numbers(`select sum(wanted)::int as wanted, sum(done)::int as done from counters`)).toEqual({
      wanted: 240,
      done: 240,
    })
    expect(await numbers(`select count(*)::int - count(distinct (id, done))::int as doubled from effects`)).toEqual({
      doubled: 0,
    })
    expect((await pool.query(`select * from regrow.ledger`)).rows).toEqual([])
    for (const { ear } of four) expect(ear.of('job.lease_lost')).toEqual([])
  },
)

describe('ten enqueues by another app while a key runs', () => {
  /** Runs the key, enqueues it meanwhile, and answers the app that runs it, when that is over. */
  async function enqueueMeanwhile(uniqueUntil: Unique, changed: boolean) {
    await pool.query(`insert into counters values (1, 1, 0)`)
    const [marked, held] = [pledge(), pledge()]
    const runner = open(uniqueUntil, '1h', async (id, ctx) => {
      if (runner.ear.of('job.started').length > 1) return raise(id, ctx)
      await pool.query(`update counters set done = wanted where id = $1`, [id])
      marked.resolve()
      await held.promise
    })
    const worker = runner.app.work()
    await marked.promise
    if (changed) await want(1)
    const other = open(uniqueUntil, '1h', raise)
    let added = 0
    for (let n = 0; n < 10; n++) added += (await other.job.enqueue(1)).status === 'added' ? 1 : 0
    await runner.ear.hears('hint.refused', { why: 'running' })
    // One that was taken and not looked at yet would be looked at after the run, and rightly run again.
    if (uniqueUntil === 'success')
      await runner.ear.until(() => runner.ear.of('hint.refused', { why: 'running' }).length === added)
    // Until its start, what is left of the ten waits for a second; until its success, nothing is.
    const hints = async () =>
      (await numbers(`select string_agg((due_at > clock_timestamp())::text, ',') as waits from regrow.hints`)).waits
    const left = uniqueUntil === 'start' ? 'true' : null
    while ((await hints()) !== left) await pool.query(`select pg_sleep(0.01)`)
    held.resolve()
    return { worker, ear: runner.ear }
  }

  test('until its start, and its row changed: it runs once more', async () => {
    const { worker, ear } = await enqueueMeanwhile('start', true)
    await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 2)
    await worker.stop()
    expect(ear.of('job.started')).toHaveLength(2)
    expect(await numbers(`select wanted, done from counters`)).toEqual({ wanted: 2, done: 2 })
  })

  test('until its start, and its row did not change: it does not run again', async () => {
    const { worker, ear } = await enqueueMeanwhile('start', false)
    await ear.hears('hint.refused', { why: 'not_pending' })
    await worker.stop()
    expect(ear.of('job.started')).toHaveLength(1)
  })

  test('until its success: they are merged into the run, and the sweep finds a change', async () => {
    const { worker, ear } = await enqueueMeanwhile('success', true)
    await ear.hears('job.settled', { state: 'done' })
    await ear.hears('job.no_progress', { why: 'no_version' })
    expect(ear.of('job.started')).toHaveLength(1)
    await pool.query(`update regrow.sweeps set next_at = now()`)
    await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 2)
    await worker.stop()
    expect(ear.of('job.started')).toHaveLength(2)
  })
})
