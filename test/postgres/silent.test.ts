// Connections that stay open and lead nowhere, under handlers that are in ctx.tx: they are found and closed, and the work goes on over
// new ones. So are those of runs that were aborted and do not end.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { RegrowError } from '../../src/base/errors.ts'
import { ConnectionWatch } from '../../src/drivers/postgres/client/connection-watch.ts'
import { transaction } from '../../src/drivers/postgres/client/transaction.ts'
import { type PostgresGiven, postgres } from '../../src/drivers/postgres/index.ts'
import { type Context, regrow } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { startProxy, type TcpProxy } from '../services/proxy.ts'

const leaseMs = 12_000
/** What docs/postgres.md promises. */
const backMs = leaseMs + 2_000

const ends: (() => Promise<unknown>)[] = []
let database: FreshDatabase
let admin: pg.Client

beforeAll(async () => {
  database = await freshDatabase('silent')
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await operate(regrow({ store: postgres(admin) })).migrate()
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  await admin.end()
  await database.drop()
})

/** A worker on tables of its own, with a handler for its rows. */
async function work(
  table: string,
  given: PostgresGiven,
  run: (id: number, ctx: Context, attempt: number) => Promise<unknown>,
  timeout: '1s' | '1h' = '1h',
) {
  await admin.query(`create table ${table} (id int primary key, state text not null default 'pending', value int)`)
  await admin.query(`create table ${table}_effects (id int not null)`)
  const app = regrow({ store: postgres(given as string), lease: leaseMs, log: false })
  const ear = new Ear(app)
  const job = app.job(`${table}.make`, {
    key: 'int',
    pending: { text: `select id from ${table} where state = 'pending'`, values: [] },
    timeout,
    retry: { delay: '10ms' },
    run: (id, ctx) => run(id, ctx as Context, ear.of('job.started', { key: String(id) }).length),
  })
  const worker = app.work({ concurrency: 8 })
  const close = async () => {
    await worker.stop({ grace: '100ms' })
    await app.close()
  }
  ends.push(close)
  await worker.ready
  const add = async (from: number, to: number) => {
    await admin.query(`insert into ${table} select generate_series($1::int, $2::int)`, [from, to])
    await job.enqueueMany(Array.from({ length: to - from + 1 }, (_, i) => from + i))
  }
  const finish = (id: number, ctx: Context, before = 'select 1', wraps = false) =>
    ctx.tx(async (tx) => {
      await tx.query(`insert into ${table}_effects values ($1)`, [id])
      await tx.query(before).catch((cause) => {
        throw wraps ? new Error('Failed query', { cause }) : cause
      })
      await tx.query(`update ${table} set state = 'done' where id = $1`, [id])
    })
  const done = (count: number) => ear.until(() => ear.of('job.settled', { state: 'done' }).length >= count, 60_000)
  const effects = async () =>
    (await admin.query(`select id from ${table}_effects order by id`)).rows.map(({ id }) => id)
  return { app, ear, add, finish, done, effects, close }
}

async function behindProxy(): Promise<{ proxy: TcpProxy; url: string }> {
  const url = new URL(database.url)
  const proxy = await startProxy(Number(url.port))
  url.port = String(proxy.port)
  ends.push(() => proxy.close())
  return { proxy, url: url.href }
}

const oneTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

describe.concurrent('all connections lead nowhere, and new ones work', () => {
  test.each([
    ['a url', 'by_url', (url: string) => url],
    [
      'a pool of the user',
      'by_pool',
      (url: string) => {
        const pool = new pg.Pool({ connectionString: url, max: 12 })
        pool.on('error', () => {})
        ends.push(() => pool.end())
        return pool
      },
    ],
  ] as const)('given %s, handlers in ctx.tx go on within a lease and two seconds', async (_, table, given) => {
    const { proxy, url } = await behindProxy()
    const scene = await work(table, given(url), async (id, ctx, attempt) => {
      // The first eight are inside their transaction, some with a lock, when it happens.
      if (id <= 8 && attempt === 1) await scene.finish(id, ctx, `select pg_sleep(${id / 10})`)
      else await scene.finish(id, ctx)
    })
    await scene.add(1, 60)
    await scene.ear.until(() => scene.ear.of('job.started').length >= 8)
    const from = performance.now()
    proxy.swallow()
    proxy.pass()
    await scene.done(60)
    expect(performance.now() - from).toBeLessThan(backMs)
    expect(await scene.effects()).toEqual(oneTo(60))
    // It is nobody's failure.
    expect(scene.ear.of('job.settled').filter(({ state }) => state === 'quarantined')).toEqual([])
    expect(
      (await admin.query(`select key from regrow.ledger where failures > 0 and job = $1`, [`${table}.make`])).rows,
    ).toEqual([])
  })

  test('a statement that takes long is left alone, and so is a transaction that waits for its handler', async () => {
    const { url } = await behindProxy()
    const scene = await work('patient', url, async (id, ctx) => {
      if (id === 1) return scene.finish(id, ctx, `select pg_sleep(8)`)
      return ctx.tx(async (tx) => {
        await tx.query(`insert into patient_effects values ($1)`, [id])
        await systemClock.sleep(8_000)
        await tx.query(`update patient set state = 'done' where id = $1`, [id])
      })
    })
    await scene.add(1, 2)
    await scene.done(2)
    expect(scene.ear.of('job.started')).toHaveLength(2)
    expect(await scene.effects()).toEqual([1, 2])
  })
})

describe.concurrent('a run is aborted while a statement of its ctx.tx goes on', () => {
  const sleeping = (table: string) => `select pg_sleep(600) /* ${table} */`
  const statementEnds = (table: string) =>
    vi.waitFor(
      async () => {
        const { rowCount } = await admin.query(`select 1 from pg_stat_activity where query = $1`, [sleeping(table)])
        expect(rowCount).toBe(0)
      },
      { timeout: 10_000 },
    )

  test.each([
    ['straight', 'slow_straight', () => database.url],
    ['behind a pooler', 'slow_pooled', () => database.bouncerUrl],
    ['by a query builder that wraps errors', 'slow_wrapped', () => database.url],
  ] as const)(
    'by its timeout, %s: the statement ends, the run has failed, the next one succeeds',
    async (_, table, url) => {
      const wraps = table === 'slow_wrapped'
      const scene = await work(
        table,
        url(),
        (id, ctx, attempt) => scene.finish(id, ctx, attempt === 1 ? sleeping(table) : 'select 1', wraps),
        '1s',
      )
      await scene.add(1, 1)
      await scene.done(1)
      const [first] = scene.ear.of('job.settled')
      expect(first).toMatchObject({ state: 'retrying', error: expect.stringContaining('longer than its timeout') })
      expect(scene.ear.of('job.started')).toHaveLength(2)
      expect(await scene.effects()).toEqual([1])
      // A pooler knows which process it is, and regrow does not.
      if (table !== 'slow_pooled') await statementEnds(table)
    },
  )

  test('by the loss of its lease: the statement ends, and nothing is counted', async () => {
    const scene = await work('slow_lost', database.url, (id, ctx, attempt) =>
      scene.finish(id, ctx, attempt === 1 ? sleeping('slow_lost') : 'select 1'),
    )
    await scene.add(1, 1)
    await scene.ear.hears('job.started')
    await admin.query(`delete from regrow.workers where jobs::text like '%slow_lost.make%'`)
    await scene.ear.hears('worker.gone')
    await scene.done(1)
    expect(await scene.effects()).toEqual([1])
    await scene.ear.hears('job.lease_lost')
    await statementEnds('slow_lost')
  })

  test('by the stop of its worker: the app can be closed', async () => {
    const scene = await work('slow_stopped', database.url, (id, ctx) => scene.finish(id, ctx, sleeping('slow_stopped')))
    await scene.add(1, 1)
    await scene.ear.hears('job.started')
    const from = performance.now()
    await scene.close()
    expect(performance.now() - from).toBeLessThan(10_000)
    expect(await scene.effects()).toEqual([])
  })
})

test('S16: a transaction whose fence had no answer in time ends at once', async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  pool.on('error', () => {})
  ends.push(() => pool.end())
  const make = () => new pg.Client({ connectionString: database.url })
  const watch = new ConnectionWatch({ clock: systemClock, leaseMs, make: make as never })
  const from = performance.now()
  const ended = transaction(
    watch.over(pool as never),
    async (tx) => {
      tx.query('select pg_sleep(600)').catch(() => {})
      throw new RegrowError('deadline', 'ledger.settle did not answer', '')
    },
    { watch },
  )
  await expect(ended).rejects.toMatchObject({ code: 'deadline' })
  expect(performance.now() - from).toBeLessThan(5_000)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})
