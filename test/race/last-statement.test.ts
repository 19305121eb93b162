// The fence of ctx.tx and its COMMIT travel together: whatever becomes of the claim, effects and outcome are one (S4).
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import type { SqlExecutor } from '../../src/drivers/sql/client.ts'
import type { SettleRow } from '../../src/store/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let admin: pg.Client
const closing: (() => Promise<void>)[] = []

beforeAll(async () => {
  database = await freshDatabase('last')
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  const { store } = await postgres(database.url).open({ clock: systemClock, leaseMs: 15_000 })
  await store.migrate()
  await store.close()
  await admin.query('create table effects (key text primary key)')
})
beforeEach(() => admin.query('truncate effects, regrow.ledger, regrow.workers'))
afterAll(async () => {
  for (const close of closing) await close()
  await admin.end()
  await database.drop()
})

/** Ways to reach the database: with pools of our own, a user's pool, one that pipelines, through PgBouncer. */
const ways: readonly [string, () => Store<SqlExecutor> | Promise<Store<SqlExecutor>>][] = [
  ['a url', () => opened(database.url)],
  ['a pool', () => opened(pool({}))],
  ['a pool that pipelines', () => opened(pool({ pipeline: true }))],
  ['one client', () => opened(admin)],
  ['PgBouncer', () => opened(database.bouncerUrl)],
]

function pool(how: object): pg.Pool {
  const made = new pg.Pool({ connectionString: database.url, max: 3, ...how })
  // A database that is dropped ends what is still open.
  made.on('error', () => {})
  closing.push(() => made.end())
  return made
}

async function opened(given: string | pg.Pool | pg.Client, options = {}): Promise<Store<SqlExecutor>> {
  const { store } = await postgres(given as string, options).open({ clock: systemClock, leaseMs: 15_000 })
  closing.push(() => store.close())
  await store.prepare({ migrate: false })
  return store as unknown as Store<SqlExecutor>
}

async function claimed(store: Store<SqlExecutor>, count: number): Promise<SettleRow[]> {
  await store.workers.register({ holder: 'w1', host: 'h', pid: 1, jobs: {} }, 15_000)
  const claims = Array.from({ length: count }, (_, i) => ({ job: 'a', key: `k'${i}`, take: i + 1 }))
  const answers = await store.ledger.take('w1', claims)
  expect(answers.map(({ verdict }) => verdict)).toEqual(claims.map(() => 'taken'))
  const nothing = { version: null, failures: 0, crashes: 0, retryMs: 0, error: null, finish: null }
  return claims.map((claim) => ({ ...claim, ...nothing, state: 'done' as const }))
}

/** A handler's transaction: an effect per key, then the settle. Fails like ctx.tx does when not all are held. */
const run = (store: Store<SqlExecutor>, rows: readonly SettleRow[]) =>
  store.transaction(async (tx, own) => {
    for (const { key } of rows) await own.query('insert into effects values ($1)', [key])
    const held = await store.ledger.settle('w1', rows, tx)
    if (held.size < rows.length) throw new Error('lost')
  })

const count = async (table: string) => Number((await admin.query(`select count(*) as n from ${table}`)).rows[0].n)

for (const [name, open] of ways)
  for (const keys of [1, 20])
    test(`through ${name}, ${keys} at a time: held, all is committed; one lost, nothing is, and the connection goes on`, async () => {
      const store = await open()
      const rows = await claimed(store, keys)
      await run(store, rows)
      expect([await count('effects'), await count('regrow.ledger')]).toEqual([keys, 0])
      await admin.query('truncate effects')
      const again = await claimed(store, keys)
      await admin.query(`update regrow.ledger set take = take + 1000 where key = $1`, [again[0]?.key])
      await expect(run(store, again)).rejects.toThrow('lost')
      expect([await count('effects'), await count('regrow.ledger')]).toEqual([0, keys])
      await admin.query('truncate regrow.ledger')
      await run(store, await claimed(store, keys))
      expect([await count('effects'), await count('regrow.ledger')]).toEqual([keys, 0])
    })

test('an error of the user’s own that was caught stops the COMMIT, too', async () => {
  const store = await opened(database.url)
  const rows = await claimed(store, 1)
  const failing = store.transaction(async (tx, own) => {
    await own.query(`insert into effects values ('x')`)
    await own.query('select 1 / 0').catch(() => {})
    await store.ledger.settle('w1', rows, tx)
  })
  await expect(failing).rejects.toMatchObject({ code: 'rolled_back', cause: { code: '22012' } })
  expect([await count('effects'), await count('regrow.ledger')]).toEqual([0, 1])
})

test('a statement after the settle is refused: it could no longer be part of the transaction', async () => {
  const store = await opened(database.url)
  const rows = await claimed(store, 1)
  const late = store.transaction(async (tx, own) => {
    await store.ledger.settle('w1', rows, tx)
    await own.query(`insert into effects values ('late')`)
  })
  await expect(late).rejects.toMatchObject({ code: 'tx_over' })
  expect(await count('effects')).toBe(0)
})

/** How often the connection has executed settles that have a name. */
const settles = `select name, generic_plans + custom_plans as times from pg_prepared_statements where statement like '%lease lost%'`

test('on a connection of our own the settle is prepared once, and planned by index though the ledger is empty', async () => {
  const store = await opened(database.url, { max: 2 })
  await admin.query('vacuum (analyze) regrow.ledger')
  for (let n = 0; n < 8; n++) {
    await admin.query('truncate effects')
    await run(store, await claimed(store, 1))
  }
  const [found, plan] = await store.transaction(async (_, own) => {
    const { rows } = await own.query(settles)
    // After five plans for their own values it is one for all, which is kept.
    const plan = await own.query(`explain execute ${rows[0]?.name} ('w1', 'a', 'k', '1')`)
    return [rows, plan.rows.map((row) => row['QUERY PLAN']).join('\n')]
  })
  expect(found).toEqual([{ name: expect.stringMatching(/^regrow_/), times: '8' }])
  expect(plan).toMatch(/Index .*ledger/)
  expect(plan).not.toContain('Seq Scan')
})

test('behind a pooler, and on a connection of the user’s, the settle has no name', async () => {
  for (const given of [database.bouncerUrl, pool({ max: 2 })]) {
    const store = await opened(given)
    for (let n = 0; n < 3; n++) {
      await admin.query('truncate effects')
      await run(store, await claimed(store, 1))
    }
    const found = await store.transaction(async (_, own) => (await own.query(settles)).rows)
    expect(found).toEqual([])
  }
})

test('a session that was emptied of its statements fails the run as nobody’s, and the next one has another', async () => {
  const store = await opened(database.url, { max: 2 })
  await run(store, await claimed(store, 1))
  await admin.query('truncate effects')
  const rows = await claimed(store, 1)
  const emptied = store.transaction(async (tx, own) => {
    await own.query(`insert into effects values ('x')`)
    await own.query('deallocate all')
    await store.ledger.settle('w1', rows, tx)
  })
  await expect(emptied).rejects.toMatchObject({ code: 'store_away' })
  expect([await count('effects'), await count('regrow.ledger')]).toEqual([0, 1])
  await run(store, rows)
  expect([await count('effects'), await count('regrow.ledger')]).toEqual([1, 0])
})
