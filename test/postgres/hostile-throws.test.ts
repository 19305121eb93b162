// A handler may throw anything: whatever that is, it is a failed attempt of its key with a text, its neighbours succeed, no connection
// stays in a transaction, and the worker goes on.
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, type StoreDriver, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { hostileValues } from '../hostile-values.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

/** Where the value is thrown. */
const ways = ['at_once', 'later', 'in_tx', 'unawaited_tx', 'many', 'many_in_tx', 'marked'] as const
type Way = (typeof ways)[number]
const attempts = 2
/** Ids from 1 on are those of values; these come after them. */
const neighbours = [1, 2, 3].map((i) => hostileValues.length + i)
const last = hostileValues.length + 4

const tables = `create table things (way text, id int, state text not null default 'pending', primary key (way, id));
  insert into things select way, id from unnest('{${ways.join(',')}}'::text[]) way, generate_series(1, ${last - 1}) id`

let database: FreshDatabase
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  database = await freshDatabase('hostile_throws')
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  await database.drop()
})

type Row = Record<string, unknown>
interface Place {
  readonly store: StoreDriver<never>
  query(text: string, params?: unknown[]): Promise<{ rows: Row[] }>
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  'Postgres by its address': async () => ({ store: postgres(database.url) as never, ...(await onServer()) }),
  'Postgres by a pool of one connection': async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 })
    ends.push(() => pool.end())
    return { store: postgres(pool) as never, ...(await onServer()) }
  },
  PGlite: async () => {
    const db = new PGlite()
    ends.push(() => db.close())
    await db.exec(tables)
    return { store: pglite(db) as never, query: (text, params) => db.query(text, params) }
  },
}

async function onServer(): Promise<Pick<Place, 'query'>> {
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  ends.push(() => admin.end())
  await admin.query(`drop table if exists things; drop schema if exists regrow cascade; ${tables}`)
  return { query: (text, params) => admin.query(text, params) }
}

/** Throws the value of that id; nothing for a neighbour. */
function breakWith(id: number): void {
  const value = hostileValues[id - 1]
  if (value) throw value.make()
}

interface Tx {
  query(text: string, params?: unknown[]): Promise<unknown>
}

/** An app with a job for each way, and its handlers. */
function declare({ store, query }: Place) {
  const app = regrow({ store, log: false })
  const mark = (on: Tx, way: Way, ids: readonly number[]) =>
    on.query(`update things set state = 'done' where way = $1 and id = any ($2::text::int[])`, [
      way,
      `{${ids.join(',')}}`,
    ])
  const jobs: { enqueue(id: number): Promise<unknown> }[] = []
  const kept = <Job extends (typeof jobs)[number]>(job: Job): Job => {
    jobs.push(job)
    return job
  }
  const optionsOf = (way: Way) =>
    ({
      key: 'int',
      pending: sql`select id from things where way = ${way} and state = 'pending'`,
      retry: { attempts, delay: 1 },
      sweep: { every: '1h' },
    }) as const
  const one = (way: Way) => kept(app.job(way, optionsOf(way)))
  const batches = (way: Way, batch: number) => kept(app.job(way, { ...optionsOf(way), batch }))
  const within = (way: Way, ids: readonly number[]) =>
    (async (tx: Tx) => {
      await mark(tx, way, ids)
      for (const id of ids) breakWith(id)
    }) as never
  const handlers = [
    one('at_once').handle((id) => {
      breakWith(id)
      return mark({ query }, 'at_once', [id]) as never
    }),
    one('later').handle(async (id) => {
      await mark({ query }, 'later', id > hostileValues.length ? [id] : [])
      breakWith(id)
    }),
    one('in_tx').handle((id, ctx) => ctx.tx(within('in_tx', [id]))),
    one('unawaited_tx').handle((id, ctx) => void ctx.tx(within('unawaited_tx', [id]))),
    batches('many', 5).handle(async (ids) => {
      for (const id of ids) breakWith(id)
      await mark({ query }, 'many', ids)
    }),
    batches('many_in_tx', 5).handle((ids, ctx) => ctx.tx(within('many_in_tx', ids))),
    batches('marked', 100).handle(async (ids, ctx) => {
      for (const id of ids)
        try {
          breakWith(id)
        } catch (error) {
          ctx.fail(id, error)
        }
      const good = ids.filter((id) => id > hostileValues.length)
      await mark({ query }, 'marked', good)
    }),
  ]
  return { app, handlers, jobs }
}

const bad = hostileValues.map((_, i) => i + 1)

test.each(Object.entries(places))(
  '%s: whatever is thrown is a failed attempt of its key alone',
  async (_, make) => {
    const place = await make()
    const { app, handlers, jobs } = declare(place)
    ends.push(() => app.close())
    await operate(app).migrate()
    const ear = new Ear(app)
    const worker = app.work({ handlers, concurrency: 5 })
    await worker.ready
    const ended = () => ear.of('job.settled').filter(({ state }) => state !== 'retrying').length
    await ear.until(() => ended() === ways.length * (last - 1), 60_000)
    for (const way of ways) {
      const { rows } = await place.query(
        `select key::int as id, state, failures, holder, length(trim(error)) > 0 as told from regrow.ledger where job = $1 order by key::int`,
        [way],
      )
      const failed = { state: 'quarantined', failures: attempts, holder: null, told: true }
      expect({ way, rows }).toEqual({ way, rows: bad.map((id) => ({ id, ...failed })) })
      const { rows: done } = await place.query(`select id from things where way = $1 and state = 'done' order by id`, [
        way,
      ])
      expect({ way, done }).toEqual({ way, done: neighbours.map((id) => ({ id })) })
    }
    const { rows: open } = await place.query(
      `select pid, query from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    )
    expect(open).toEqual([])
    // It goes on: one more of each.
    for (const way of ways) await place.query(`insert into things values ($1, $2)`, [way, last])
    for (const job of jobs) await job.enqueue(last)
    await ear.until(() => ear.of('job.settled', { key: String(last), state: 'done' }).length === ways.length)
    await worker.stop()
  },
  120_000,
)
