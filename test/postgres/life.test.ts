// start, stop and close in any order, any number of times: nothing crashes, everything ends, and nothing works after close.

import type { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { pledge } from '../../src/base/deferred.ts'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type EventMap, type LogOption, regrow, sql, type WorkerHandle } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openPglite } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { seededRandom } from '../sim/seeded-random.ts'

const table = `create table things (id text primary key, state text not null default 'pending')`
let db: PGlite
let database: FreshDatabase
let client: pg.Client
/** Rejections that nobody handled: outside of a test each of them ends the process. */
const unhandled: unknown[] = []
const note = (reason: unknown) => void unhandled.push(reason)

beforeAll(async () => {
  db = await openPglite(table)
  database = await freshDatabase('life')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(table)
  const app = regrow({ store: postgres(database.url), log: false })
  await operate(app).migrate()
  await app.close()
})
beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', note)
})
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})
afterAll(async () => {
  await db.close()
  await client.end()
  await database.drop()
})

const pending = sql`select id from things where state = 'pending'`

function appOn(store: StoreDriver<never>, log: LogOption = false) {
  const app = regrow({ store, log }) as unknown as App
  const thing = app.job('thing.make', {
    pending,
    run: (id, ctx) => ctx.tx(sql`update things set state = 'done' where id = ${id}`) as unknown as Promise<void>,
  })
  return { app, thing }
}

const stores: [name: string, store: () => StoreDriver<never>][] = [
  ['PGlite', () => pglite(db) as unknown as StoreDriver<never>],
  ['Postgres', () => postgres(database.url) as StoreDriver<never>],
  ['a store that cannot be reached', () => postgres('postgres://app@127.0.0.1:1/none') as StoreDriver<never>],
]

test.each(stores.slice(0, 2))('on %s, close while a worker stops waits for it', async (_, store) => {
  const { app } = appOn(store())
  const worker = app.work()
  await worker.ready
  const stopping = worker.stop()
  await app.close()
  await stopping
})

test.each(stores.slice(0, 2))('on %s, close stops the workers, and their handlers end first', async (_, store) => {
  const { app, thing } = appOn(store())
  let began = () => {}
  const begun = new Promise<void>((resolve) => {
    began = resolve
  })
  const ended: string[] = []
  const slow = app.job('thing.slow', {
    input: { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } },
    async run() {
      began()
      await new Promise((resolve) => setTimeout(resolve, 100))
      // A handler may use its app until it has ended.
      await thing.enqueue('not there')
      ended.push('handler')
    },
  })
  const worker = app.work()
  await worker.ready
  await slow.enqueue({})
  await begun
  await app.close().then(() => ended.push('close'))
  expect(ended).toEqual(['handler', 'close'])
  await worker.stop()
})

test.each(stores)('on %s, every call after close fails at once with `closed`', async (_, store) => {
  const lines: string[] = []
  const { app, thing } = appOn(store(), ({ message }) => void lines.push(message))
  await app.close()
  await app.close()
  const calls = [
    () => thing.enqueue('a'),
    () => thing.enqueueMany(['a']),
    () => app.transaction(async () => {}),
    () => operate(app).status(),
    () => operate(app).health(),
    () => operate(app).doctor(),
    () => operate(app).coverage(),
    () => operate(app).why('thing.make', 'a'),
    () => operate(app).queue(),
    () => operate(app).migrate(),
    () => operate(app).sweep(),
    () => app.pause('thing.make', { reason: 'x' }),
    () => app.resume('thing.make'),
    () => operate(app).pauses(),
    () => operate(app).quarantine.list(),
    () => operate(app).quarantine.release('thing.make', ['a']),
    () => operate(app).schedules.list(),
    () => operate(app).schedules.end('x'),
    () => app.work().ready,
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ name: 'RegrowError', code: 'closed' })
  // Nobody looks at this one: it is said, and does not end the process.
  expect(lines).toEqual([])
  const worker = app.work()
  await worker.stop()
  await expect(worker.ready).rejects.toMatchObject({ code: 'closed' })
  app.work()
  await new Promise((resolve) => setImmediate(resolve))
  expect(lines).toEqual([expect.stringMatching(/^this worker cannot start: The app was closed/)])
})

test.each(stores)('on %s, a worker that is still opening can be stopped, and its app closed', async (_, store) => {
  for (const end of [
    (app: App, worker: WorkerHandle) => Promise.all([app.close(), worker.stop()]),
    (app: App, worker: WorkerHandle) => Promise.all([worker.stop(), app.close(), app.close()]),
    (app: App) => app.close(),
  ]) {
    const { app } = appOn(store())
    const worker = app.work()
    const asked = [worker.capacity(), worker.loops()].map((answer) => answer.catch((error: unknown) => error))
    await end(app, worker)
    // What it answered before it was stopped, or why there is no worker.
    for (const answer of await Promise.all(asked))
      if (answer instanceof Error) expect(answer).toMatchObject({ code: expect.stringMatching(/^(closed|stopping)$/) })
    await worker.stop()
    await worker.ready.catch(() => {})
  }
})

test('what a worker could not give back is said, and a stop that nobody waits for does not end the process', async () => {
  const { app } = appOn(postgres(database.url) as StoreDriver<never>)
  const told: EventMap['loop.failed'][] = []
  app.on('loop.failed', (detail) => void told.push(detail))
  const worker = app.work()
  await worker.ready
  await client.query(`alter table regrow.workers rename to workers_away`)
  try {
    void worker.stop()
    await app.close()
  } finally {
    await client.query(`alter table regrow.workers_away rename to workers`)
  }
  expect(told.filter(({ loop }) => loop === 'stop')).toHaveLength(1)
  await expect(worker.stop()).rejects.toThrow(/regrow.workers/)
})

/** One history of random acts, each begun without waiting for the one before unless chance says so. */
async function history(store: StoreDriver<never>, seed: number): Promise<void> {
  const random = seededRandom(seed)
  const chance = (most: number) => Math.floor(random.float() * most)
  const { app, thing } = appOn(store)
  const workers: WorkerHandle[] = []
  const answers: Promise<unknown>[] = []
  const acts: (() => Promise<unknown> | undefined)[] = [
    () => {
      const worker = app.work()
      workers.push(worker)
      return chance(2) === 0 ? worker.ready : undefined
    },
    () => workers[chance(workers.length)]?.stop({ grace: '100ms' }),
    () => thing.enqueue(`k${chance(3)}`),
    () => operate(app).status(),
    () => app.transaction(async (tx) => tx.query('select 1')),
    ...(chance(2) === 0 ? [() => app.close()] : []),
  ]
  for (let i = 0; i < 10; i++) {
    const answer = acts[chance(acts.length)]?.()
    // What is refused is refused; only what nobody could handle is a failure of this test.
    const handled = answer?.catch(() => {})
    if (handled) answers.push(handled)
    if (chance(3) === 0) await new Promise((resolve) => setTimeout(resolve, chance(15)))
  }
  await app.close()
  await Promise.all(answers)
  await Promise.all(workers.map((worker) => worker.stop()))
  await expect(operate(app).status()).rejects.toMatchObject({ code: 'closed' })
}

test.each(stores)('on %s, random orders of start, use, stop and close all end', async (_, store) => {
  const first = Number(process.env.REGROW_SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)
  for (let seed = first; seed < first + 12; seed++)
    await history(store(), seed).catch((error: unknown) => {
      throw new Error(`REGROW_SEED=${seed} fails`, { cause: error })
    })
})

test.each(stores.slice(0, 2))(
  'on %s, `await using` waits for what runs, stops the worker and closes its app',
  async (_, store) => {
    const { promise: began, resolve: begin } = pledge()
    const { promise: mayEnd, resolve: end } = pledge()
    const ended: string[] = []
    let kept: App | undefined
    {
      await using app = appOn(store()).app
      kept = app
      const slow = app.job('thing.held', {
        input: { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } },
        async run() {
          begin()
          await mayEnd
          ended.push('handler')
        },
      })
      await using worker = app.work()
      await worker.ready
      await slow.enqueue({})
      await began
      setImmediate(end)
    }
    expect(ended).toEqual(['handler'])
    await expect(operate(kept).status()).rejects.toMatchObject({ code: 'closed' })
  },
)

test('the end of a block waits for a stop that was begun, and does not end its grace', async () => {
  const { promise: began, resolve: begin } = pledge()
  const { promise: mayEnd, resolve: end } = pledge()
  await using app = appOn(pglite(db) as unknown as StoreDriver<never>).app
  let aborted = true
  const slow = app.job('thing.held', {
    input: { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } },
    async run(_, ctx) {
      begin()
      await mayEnd
      aborted = ctx.signal.aborted
    },
  })
  {
    await using worker = app.work()
    await worker.ready
    await slow.enqueue({})
    await began
    void worker.stop()
    setImmediate(end)
  }
  expect(aborted).toBe(false)
})
