// A store with one connection: what would wait for the transaction that it is called in fails at once and says the cure,
// and a transaction that holds the connection for too long is ended, so that its worker stays alive.

import type { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { pledge } from '../../src/base/deferred.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type Context, regrow, type StoreDriver, sql, type Transaction } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear, openPglite, reset } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

const tables = `
  create table things (id text primary key, state text not null default 'pending');
  create table effects (id text not null)`

let database: FreshDatabase
let admin: pg.Client
let embedded: PGlite | undefined
/** Ends of what a test opened, last first. */
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  database = await freshDatabase('one_connection')
  admin = await client()
  ends.pop()
  await admin.query(tables)
  await operate(regrow({ store: postgres(admin) })).migrate()
})
beforeEach(async () => {
  await admin.query(`
    truncate things, effects, regrow.ledger, regrow.intents, regrow.hints, regrow.workers, regrow.sweeps;
    update regrow.pulse set beat_at = '-infinity', grace_until = '-infinity'`)
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
afterAll(async () => {
  await admin.end()
  await embedded?.close()
  await database.drop()
})

async function client(): Promise<pg.Client> {
  const made = new pg.Client({ connectionString: database.url })
  await made.connect()
  ends.push(() => made.end())
  return made
}

function pool(max: number): pg.Pool {
  const made = new pg.Pool({ connectionString: database.url, max })
  // A database that is dropped ends what is still open.
  made.on('error', () => {})
  ends.push(() => made.end())
  return made
}

function open(store: StoreDriver, lease: '2s' | '15s' = '15s') {
  const app = regrow({ store, lease })
  ends.push(() => app.close())
  return { app, ear: new Ear(app) }
}

async function work(app: App, concurrency = 10) {
  const worker = app.work({ concurrency })
  ends.push(() => worker.stop({ grace: 0 }))
  await worker.ready
}

const finish = (tx: Transaction, id: string) => tx.query(`update things set state = 'done' where id = $1`, [id])
const pending = sql`select id from things where state = 'pending'`

interface Given {
  readonly store: StoreDriver
  query(text: string): Promise<Record<string, unknown>[]>
}

const stores: Record<string, () => Promise<Given>> = {
  PGlite: async () => {
    embedded ??= await openPglite(tables)
    const db = embedded
    await reset(db, 'things', 'effects')
    return { store: pglite(db), query: async (text) => (await db.query<Record<string, unknown>>(text)).rows }
  },
  'a pg Client': async () => ({
    store: postgres(await client()),
    query: async (text) => (await admin.query(text)).rows,
  }),
  'a pool of one': async () => ({ store: postgres(pool(1)), query: async (text) => (await admin.query(text)).rows }),
}

describe.each(Object.entries(stores))('on %s', (name, given) => {
  let store: StoreDriver
  let query: Given['query']
  let app: App
  let ear: Ear

  beforeEach(async () => {
    ;({ store, query } = await given())
    ;({ app, ear } = open(store))
  })

  const mail = () => app.job('mail.send', { input: z.string(), sweep: { every: '1h' }, run() {} })

  /** One key whose handler runs `fn` inside ctx.tx; resolves when the run is settled. */
  async function inside(fn: (tx: Transaction, ctx: Context) => Promise<unknown>) {
    const job = app.job('thing.make', {
      pending,
      retry: { attempts: 1 },
      sweep: { every: '1h' },
      run: (id, ctx) =>
        ctx.tx(async (tx) => {
          await tx.query(`insert into effects values ($1)`, [id])
          await fn(tx, ctx)
          await finish(tx, id)
        }),
    })
    await work(app)
    await query(`insert into things (id) values ('a')`)
    const from = performance.now()
    await job.enqueue('a')
    const settled = await ear.hears('job.settled', { job: 'thing.make' })
    // Far below every deadline: what waited for itself would take 7.5 s on Postgres and 25 s on PGlite.
    expect(performance.now() - from).toBeLessThan(7_000)
    return settled
  }

  test('an input enqueued without { tx } inside ctx.tx fails the run at once, with the cure', async () => {
    const mails = mail()
    const { state, error } = await inside(() => mails.enqueue('ada'))
    expect({ state, error }).toEqual({ state: 'quarantined', error: expect.stringContaining('enqueue(…, { tx })') })
    expect(error).toContain('this store has one connection')
    expect(await query(`select id from effects union all select id::text from regrow.intents`)).toEqual([])
  })

  test('a second transaction and status() inside ctx.tx are refused; a handler that catches that goes on', async () => {
    const refused: unknown[] = []
    const { state } = await inside(async () => {
      const calls = [
        () => app.transaction(async () => {}),
        () => operate(app).status(),
        () => operate(app).quarantine.list(),
      ]
      for (const call of calls) refused.push(await call().catch((error: { code: string }) => error.code))
    })
    expect(refused).toEqual(Array(3).fill('inside_tx'))
    expect(state).toBe('done')
    expect(await query(`select id from effects`)).toEqual([{ id: 'a' }])
  })

  test('a second ctx.tx inside ctx.tx is refused, and fails the run also when that is caught', async () => {
    const refused: unknown[] = []
    const { state, error } = await inside(async (_, ctx) => {
      for (const options of [{}, { settle: false }])
        refused.push(await ctx.tx(async () => {}, options).catch((error: { code: string }) => error.code))
    })
    expect(refused).toEqual(['tx_twice', 'tx_twice'])
    expect({ state, error }).toEqual({ state: 'quarantined', error: expect.stringContaining('under way') })
    expect(await query(`select id from effects`)).toEqual([])
  })

  test('inside app.transaction the same holds', async () => {
    const mails = mail()
    await expect(app.transaction(() => mails.enqueue('ada'))).rejects.toMatchObject({ code: 'inside_tx' })
    await expect(app.transaction(() => app.transaction(async () => {}))).rejects.toMatchObject({ code: 'inside_tx' })
    expect(await app.transaction((tx) => mails.enqueue('ada', { tx }))).toMatchObject({ status: 'added' })
  })

  test('another app on the same connection is refused, too', async () => {
    const other = open(store).app
    await expect(app.transaction(() => operate(other).status())).rejects.toMatchObject({ code: 'inside_tx' })
    expect((await operate(other).status()).jobs).toEqual([])
  })

  test('with { tx } an input and a key commit with the transaction, and their hints follow it', async () => {
    const mails = mail()
    const other = app.job('thing.other', { pending: sql`select id from things where state = 'other'`, run() {} })
    const { state } = await inside(async (tx) => {
      expect(await mails.enqueue('ada', { tx })).toMatchObject({ status: 'added' })
      await tx.query(`insert into things values ('b', 'other')`)
      expect(await other.enqueue('b', { tx })).toMatchObject({ status: 'added' })
    })
    expect(state).toBe('done')
    await ear.hears('job.settled', { job: 'mail.send', state: 'done' })
    await ear.hears('job.settled', { job: 'thing.other', key: 'b', state: 'done' })
    expect(ear.of('hint.dropped')).toEqual([])
  })

  test('a key enqueued without { tx } inside ctx.tx fails nothing: its hint is pushed, or dropped and told', async () => {
    const other = app.job('thing.other', { pending: sql`select id from things where state = 'other'`, run() {} })
    let result: unknown
    const { state } = await inside(async () => {
      result = await other.enqueue('x')
    })
    expect(state).toBe('done')
    const onMemory = name === 'PGlite'
    expect(result).toEqual({ key: 'x', status: onMemory ? 'added' : 'dropped' })
    expect(ear.of('hint.dropped')).toMatchObject(onMemory ? [] : [{ count: 1, error: { code: 'inside_tx' } }])
  })

  test('calls from elsewhere wait in line for the transaction, and are served', async () => {
    const mails = mail()
    const begun = pledge()
    const { promise: goOn, resolve } = pledge()
    const run = inside(async () => {
      begun.resolve()
      await goOn
    })
    await begun.promise
    let served = 0
    const count = () => served++
    const calls = [operate(app).status(), mails.enqueue('ada'), app.transaction((tx) => tx.query(`select 1`))]
    for (const call of calls) call.then(count, () => {})
    await new Promise(setImmediate)
    expect(served).toBe(0)
    resolve()
    await Promise.all(calls)
    expect(await run).toMatchObject({ state: 'done' })
  })

  test('what the function left running may use the store when the transaction has ended', async () => {
    const mails = mail()
    const { promise: ended, resolve } = pledge()
    let late: Promise<unknown> = Promise.resolve()
    await app.transaction(async () => {
      late = ended.then(() => mails.enqueue('late'))
    })
    resolve()
    expect(await late).toMatchObject({ status: 'added' })
  })

  test('statements pass the transactions that wait, so that beats are not late', async () => {
    const { promise: goOn, resolve } = pledge()
    const begun = pledge()
    const order: string[] = []
    const transactions = ['one', 'two', 'three'].map((each) =>
      app.transaction(async (tx) => {
        begun.resolve()
        await goOn
        await tx.query(`select 1`)
        order.push(each)
      }),
    )
    await begun.promise
    const status = operate(app)
      .pauses()
      .then(() => order.push('status'))
    await new Promise(setImmediate)
    resolve()
    await Promise.all([...transactions, status])
    expect(order.indexOf('status')).toBeLessThan(order.indexOf('three'))
  })
})

describe.each([
  ['a pool of two', () => postgres(pool(2))],
  ['a url with max 1', () => postgres(database.url, { max: 1 })],
])('on %s, which has room for one transaction', (_, given) => {
  test('a transaction inside another is refused at once; statements are not', async () => {
    const { app } = open(given())
    const mails = app.job('mail.send', { input: z.string() })
    const nested = app.transaction(() => app.transaction(async () => {}))
    await expect(nested).rejects.toMatchObject({ code: 'inside_tx', message: expect.stringContaining('one at a time') })
    expect(await app.transaction(() => mails.enqueue('ada'))).toMatchObject({ status: 'added' })
  })
})

describe.each([
  ['a pg Client', async () => postgres(await client())],
  ['a pool of one', async () => postgres(pool(1))],
])('a transaction that holds the only connection, %s, for half a lease', (_, given) => {
  /** Somebody who lives, and would free the keys of a worker that does not beat. */
  async function witness() {
    const { app } = open(postgres(database.url), '2s')
    app.job('other', { pending: sql`select id from things where false`, run() {} })
    await work(app)
  }

  async function sitting(fn: (tx: Transaction) => Promise<unknown>) {
    await witness()
    const { app, ear } = open(await given(), '2s')
    const job = app.job('thing.make', {
      pending,
      retry: { attempts: 1 },
      sweep: { every: '1h' },
      run: (id, ctx) =>
        ctx.tx(async (tx) => {
          await tx.query(`insert into effects values ($1)`, [id])
          if (id === 'slow') await fn(tx)
          await finish(tx, id)
        }),
    })
    await work(app)
    await admin.query(
      `insert into things (id) select 'quick' || n from generate_series(1, 20) n union all select 'slow'`,
    )
    await job.enqueueMany(['slow', ...Array.from({ length: 20 }, (_, n) => `quick${n + 1}`)])
    await ear.until(() => ear.of('job.settled').length === 21)
    expect(ear.of('job.settled', { state: 'done' })).toHaveLength(20)
    expect(ear.of('worker.gone')).toEqual([])
    expect(ear.of('job.started')).toHaveLength(21)
    expect((await admin.query(`select count(*)::int as n from effects where id like 'quick%'`)).rows).toEqual([
      { n: 20 },
    ])
    // A hint that came twice has its key in the ledger between take and check.
    const ledger = async () => (await admin.query(`select key, failures, crashes from regrow.ledger`)).rows
    while ((await ledger()).length > 1) await admin.query(`select pg_sleep(0.05)`)
    expect(await ledger()).toEqual([{ key: 'slow', failures: 1, crashes: 0 }])
    return { ear, slow: ear.of('job.settled', { key: 'slow' })[0] }
  }

  test('awaiting what is no statement: the run fails with the cure, late statements are refused, all else goes on', async () => {
    const { promise: goOn, resolve } = pledge()
    let late: unknown
    const over = pledge()
    const { slow } = await sitting(async (tx) => {
      await goOn
      late = await tx.query(`insert into effects values ('too late')`).catch((error: unknown) => error)
      over.resolve()
    })
    expect(slow).toMatchObject({
      state: 'quarantined',
      error: expect.stringContaining("the store's only connection for 1s"),
    })
    expect(slow?.error).toContain('a pool of 2 or more, or a url')
    resolve()
    await over.promise
    expect(late).toMatchObject({ code: 'tx_too_long' })
    expect((await admin.query(`select id from effects where id not like 'quick%'`)).rows).toEqual([])
  })

  test.each([
    ['one long statement', 1, 10],
    ['many that were sent at once', 10, 0.4],
  ])('inside %s: the server ends it', async (_, count, seconds) => {
    const { slow } = await sitting((tx) =>
      Promise.all(Array.from({ length: count }, () => tx.query(`select pg_sleep($1)`, [seconds]))),
    )
    expect(slow).toMatchObject({ state: 'quarantined', error: expect.stringContaining("the store's only connection") })
  })

  test('a transaction that is over in time is not touched, and leaves no timeout behind', async () => {
    const { app } = open(await given(), '2s')
    const during = await app.transaction(
      async (tx) => (await tx.query(`show statement_timeout`)).rows[0]?.statement_timeout,
    )
    expect(during).toMatch(/^\d+ms$/)
    expect(await app.transaction(async (tx) => (await tx.query(`select pg_sleep(0.2), 7 as n`)).rows[0]?.n)).toBe(7)
    expect((await operate(app).status()).workers).toEqual([])
  })
})

test('twenty handlers in ctx.tx on a pool of three keep no beat from it, though three of them sit for two leases', async () => {
  const witness = open(postgres(database.url), '2s')
  witness.app.job('other', { pending: sql`select id from things where false`, run() {} })
  await work(witness.app)
  const { app, ear } = open(postgres(pool(3)), '2s')
  let begun = 0
  const job = app.job('thing.make', {
    pending,
    sweep: { every: '1h' },
    run: (id, ctx) =>
      ctx.tx(async (tx) => {
        await tx.query(`select pg_sleep($1)`, [begun++ < 3 ? 4.2 : 0.3])
        await tx.query(`insert into effects values ($1)`, [id])
        await finish(tx, id)
      }),
  })
  await work(app, 20)
  await admin.query(`insert into things (id) select n::text from generate_series(1, 20) n`)
  await job.enqueueMany(Array.from({ length: 20 }, (_, n) => String(n + 1)))
  await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 20)
  expect([...ear.of('worker.gone'), ...ear.of('job.lease_lost')]).toEqual([])
  expect((await admin.query(`select count(*)::int as n, count(distinct id)::int as ids from effects`)).rows).toEqual([
    { n: 20, ids: 20 },
  ])
})
