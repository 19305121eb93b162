// ctx.tx of a statement: runs that end in the same moment share a transaction, and each is still alone with what goes wrong (S4).

import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { pledge } from '../../src/base/deferred.ts'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type Context, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { Faults } from '../sim/faults.ts'

let database: FreshDatabase
let pool: pg.Pool
const apps: App[] = []

beforeAll(async () => {
  database = await freshDatabase('together')
  pool = new pg.Pool({ connectionString: database.url, max: 4 })
  // A database that is dropped ends what is still open.
  pool.on('error', () => {})
  await pool.query(`
    create table things (id int primary key, state text not null default 'pending');
    create table effects (id int not null, what jsonb)`)
  const app = regrow({ store: postgres(database.url) })
  await operate(app).migrate()
  await app.close()
})
beforeEach(() =>
  pool.query(`truncate things, effects, regrow.ledger, regrow.hints, regrow.workers, regrow.sweeps, regrow.intents`),
)
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

type Run = (id: number, ctx: Context) => Promise<unknown>

/** So many keys whose handlers have all begun before the first of them leaves its effect. */
async function all(count: number, run: Run, store: StoreDriver = postgres(database.url)) {
  await pool.query(`insert into things select n from generate_series(1, $1::int) n`, [count])
  const app = regrow({ store })
  apps.push(app)
  const ear = new Ear(app)
  let begun = 0
  const everybody = pledge()
  app.job('thing.make', {
    key: 'int',
    pending: sql`select id from things where state = 'pending'`,
    retry: { delay: '1h' },
    run: async (id, ctx) => {
      if (++begun === count) everybody.resolve()
      await everybody.promise
      await run(id, ctx as Context)
    },
  })
  app.work({ concurrency: count })
  await ear.until(() => ear.of('job.settled').length + ear.of('job.lease_lost').length >= count)
  return ear
}

/** One statement that leaves an effect and ends the row's being pending. */
const make = (id: number, what: unknown = null) => sql`
  with made as (insert into effects values (${id}, ${what}::jsonb))
  update things set state = 'done' where id = ${id} returning id, state`

const effects = async () => {
  const { rows } = await pool.query(`select count(*)::int as n, count(distinct id)::int as ids from effects`)
  return rows[0] as { n: number; ids: number }
}
/** Transactions that wrote effects. */
const commits = async () => Number((await pool.query(`select count(distinct xmin::text) as n from effects`)).rows[0].n)
const ledger = async () => (await pool.query(`select key, state, failures from regrow.ledger`)).rows

/** Ways to reach the database; one of them has a client that sends each statement by itself. */
const ways: [string, () => StoreDriver][] = [
  ['a url', () => postgres(database.url)],
  ['a pool', () => postgres(owned({}))],
  ['a pool that pipelines', () => postgres(owned({ pipeline: true }))],
  ['PgBouncer', () => postgres(database.bouncerUrl)],
]

const pools: pg.Pool[] = []
function owned(how: object): pg.Pool {
  const made = new pg.Pool({ connectionString: database.url, max: 4, ...how })
  made.on('error', () => {})
  pools.push(made)
  return made
}
afterEach(async () => {
  for (const each of pools.splice(0)) await each.end()
})

for (const [name, store] of ways)
  test(`through ${name}: each key has its effect once and its own answer, in fewer transactions than there are keys`, async () => {
    const answers = new Map<number, unknown>()
    const ear = await all(100, async (id, ctx) => void answers.set(id, await ctx.tx(make(id, { id }))), store())
    expect(ear.of('job.settled', { state: 'done' })).toHaveLength(100)
    expect(await effects()).toEqual({ n: 100, ids: 100 })
    // How many fewer depends on how busy the server is.
    expect(await commits()).toBeLessThan(100)
    expect(await ledger()).toEqual([])
    for (const [id, answer] of answers) expect(answer).toEqual({ rows: [{ id, state: 'done' }] })
  })

test('a transaction of a function has a commit of its own', async () => {
  await all(20, (id, ctx) => ctx.tx((tx) => tx.query(make(id).text, [id, null, id])))
  expect([await effects(), await commits()]).toEqual([{ n: 20, ids: 20 }, 20])
})

describe('what goes wrong with one of them is its own', () => {
  test.each([
    ['a statement that the server refuses', (id: number) => sql`select 1 / (${id}::int - 7)`, '22012'],
    ['a value that cannot be sent', () => sql`select ${circular()}::jsonb`, 'circular'],
    ['a statement that would end the transaction', () => sql`commit`, 'begin or end the transaction'],
    ['text that is no statement at all', () => sql`-- nothing`, null],
  ] as const)('%s', async (_, bad, why) => {
    const answers = new Map<number, unknown>()
    const ear = await all(50, async (id, ctx) => {
      if (id === 7) return ctx.tx(bad(id))
      return answers.set(id, await ctx.tx(make(id)))
    })
    for (const [id, answer] of answers) expect(answer).toEqual({ rows: [{ id, state: 'done' }] })
    const failed = ear.of('job.settled', { state: 'retrying' })
    expect(failed.map(({ key }) => key)).toEqual(why === null ? [] : ['7'])
    if (why !== null && why !== '22012') expect(failed[0]?.error).toContain(why)
    expect(await effects()).toEqual({ n: 49, ids: 49 })
    expect((await ledger()).map(({ key }) => key)).toEqual(why === null ? [] : ['7'])
  })

  test('a claim that is somebody else’s by now: its effect is undone, and the others are not', async () => {
    let stolen: Promise<unknown> | undefined
    const ear = await all(50, async (id, ctx) => {
      stolen ??= pool.query(`update regrow.ledger set take = take + 100000 where key = '7'`)
      await stolen
      await ctx.tx(make(id))
    })
    expect(ear.of('job.lease_lost').map(({ key }) => key)).toEqual(['7'])
    expect(await effects()).toEqual({ n: 49, ids: 49 })
    expect((await pool.query(`select state from things where id = 7`)).rows).toEqual([{ state: 'pending' }])
  })

  test('a row that somebody has locked: its key waits by itself, and the others are done meanwhile', async () => {
    const other = await pool.connect()
    await pool.query(`insert into things values (1000, 'locked')`)
    await other.query('begin')
    await other.query(`update things set state = 'locked' where id = 1000`)
    let others = 0
    const waiting = all(30, async (id, ctx) => {
      if (id !== 7) return ctx.tx(make(id)).then(() => others++)
      return ctx.tx(sql`with freed as (update things set state = 'free' where id = 1000 returning 1)
        update things set state = 'done' from freed where id = 7`)
    })
    // All but one are recorded while the lock is held.
    const left = `select count(*)::int as n from regrow.ledger`
    while (others < 29 || (await pool.query(left)).rows[0].n !== 1)
      await new Promise((resolve) => setImmediate(resolve))
    await other.query('commit')
    other.release()
    const ear = await waiting
    expect(ear.of('job.settled', { state: 'done' })).toHaveLength(30)
    expect((await pool.query(`select state from things where id in (7, 1000) order by id`)).rows).toEqual([
      { state: 'done' },
      { state: 'free' },
    ])
  })
})

test('the reply of a commit that they share is lost: what they did stays done once, and nothing is counted', async () => {
  const faults = new Faults()
  const store = faults.store(postgres(database.url) as unknown as StoreDriver)
  let lost = false
  const ear = await all(
    20,
    (id, ctx) => {
      if (!lost) faults.loseReply('ledger.shared.settle')
      lost = true
      return ctx.tx(make(id))
    },
    store,
  )
  expect(ear.of('job.lease_lost').length).toBeGreaterThan(0)
  expect(ear.of('job.settled', { state: 'retrying' })).toEqual([])
  expect(await effects()).toEqual({ n: 20, ids: 20 })
  expect(await ledger()).toEqual([])
})

test('slow statements run side by side, not one after the other', async () => {
  await all(60, (id, ctx) =>
    ctx.tx(sql`with made as (insert into effects select ${id} from pg_sleep(0.02))
      update things set state = 'done' where id = ${id}`),
  )
  expect(await effects()).toEqual({ n: 60, ids: 60 })
  // The first of them were tried together.
  expect(await commits()).toBeGreaterThan(50)
})

test('the intent of an input job goes with its effect', async () => {
  const app = regrow({ store: postgres(database.url) })
  apps.push(app)
  const ear = new Ear(app)
  const job = app.job('mail.note', { input: z.object({ n: z.number() }) })
  await job.enqueueMany(Array.from({ length: 40 }, (_, n) => ({ n })))
  app.work({ concurrency: 40, handlers: [job.handle(({ n }, ctx) => ctx.tx(sql`insert into effects values (${n})`))] })
  await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 40)
  expect(await effects()).toEqual({ n: 40, ids: 40 })
  expect((await pool.query(`select 1 from regrow.intents`)).rows).toEqual([])
  // The sweep that a new queue begins with may have hinted some of them again: these are taken, found done, and given back.
  await expect.poll(ledger).toEqual([])
})

test('batches of many, { settle: false } and marked keys go the way of functions', async () => {
  await pool.query(`insert into things select n from generate_series(1, 10) n`)
  const app = regrow({ store: postgres(database.url) })
  apps.push(app)
  const ear = new Ear(app)
  const job = app.job('thing.make', {
    key: 'int',
    pending: sql`select id from things where state = 'pending'`,
    batch: 100,
  })
  app.work({
    handlers: [
      job.handle(async (ids, ctx) => {
        ctx.fail(3, new Error('not this one'))
        await ctx.tx(sql`insert into effects values (0)`, { settle: false })
        await ctx.tx(sql`update things set state = 'done' where id = any (${ids}) and id <> 3`)
      }),
    ],
  })
  await ear.until(() => ear.of('job.settled').length === 10)
  expect(ear.of('job.settled', { state: 'done' })).toHaveLength(9)
  expect(ear.of('job.settled', { state: 'retrying' })).toMatchObject([{ key: '3' }])
  expect((await pool.query(`select count(*)::int as n from things where state = 'done'`)).rows).toEqual([{ n: 9 }])
})

function circular(): object {
  const loop: { self?: object } = {}
  loop.self = loop
  return loop
}

test.each([
  ['alone', 1],
  ['in a shared transaction', 12],
])('an effect %s answers by the type parsers of the user’s pool', async (_, count) => {
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format as 'text'),
  }
  const theirs = new pg.Pool({ connectionString: database.url, max: 6, types })
  try {
    const found: unknown[] = []
    const run: Run = async (id, ctx) => {
      const { rows } = await ctx.tx(sql`
        with made as (insert into effects values (${id}, null))
        update things set state = 'done' where id = ${id} returning id, (id + 9007199254740992)::int8 as large, now() as at`)
      found.push(...rows)
    }
    await all(count, run, postgres(theirs))
    expect(await effects()).toEqual({ n: count, ids: count })
    if (count > 1) expect(await commits()).toBeLessThan(count)
    const numbers = Array.from({ length: count }, (_, i) => i + 1)
    expect(new Set(found.map((row) => (row as { large: unknown }).large))).toEqual(
      new Set(numbers.map((id) => 9_007_199_254_740_992n + BigInt(id))),
    )
    for (const row of found) expect((row as { at: unknown }).at).toBeInstanceOf(Date)
    for (const app of apps.splice(0)) await app.close()
  } finally {
    await theirs.end()
  }
})
