// ctx.tx and app.transaction hand out the client's own transaction: a query builder or a repository works inside, its
// statements are part of it, and nothing but its function's end can end it.

import type { PGlite } from '@electric-sql/pglite'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { bigint, pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, type StoreDriver, sql, type Transaction } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear, openPglite, reset } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

const tables = `
  create table things (id bigint primary key, state text not null default 'pending');
  create table effects (id bigint not null, note text)`
const things = pgTable('things', { id: bigint('id', { mode: 'bigint' }).primaryKey(), state: text('state') })
const effects = pgTable('effects', { id: bigint('id', { mode: 'bigint' }), note: text('note') })
const pending = sql`select id from things where state = 'pending'`

let database: FreshDatabase
let admin: pg.Client
let embedded: PGlite
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  database = await freshDatabase('own_transaction')
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await admin.query(tables)
  await operate(regrow({ store: postgres(admin) })).migrate()
  embedded = await openPglite(tables)
})
beforeEach(async () => {
  await admin.query(`
    truncate things, effects, regrow.ledger, regrow.intents, regrow.hints, regrow.workers, regrow.sweeps;
    update regrow.pulse set beat_at = '-infinity', grace_until = '-infinity'`)
  await reset(embedded, 'things', 'effects')
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
afterAll(async () => {
  await admin.end()
  await embedded.close()
  await database.drop()
})

function open<Tx>(store: StoreDriver<Tx>) {
  const app = regrow({ store })
  ends.push(() => app.close())
  return { app, ear: new Ear(app as never) }
}

function pool(max = 4, options = ''): pg.Pool {
  const made = new pg.Pool({ connectionString: database.url, max, options })
  // A database that is dropped ends what is still open.
  made.on('error', () => {})
  ends.push(() => made.end())
  return made
}

async function work(app: { work: ReturnType<typeof regrow>['work'] }) {
  const worker = app.work()
  ends.push(() => worker.stop({ grace: 0 }))
  await worker.ready
}

const shown = async (query: (text: string) => Promise<{ rows: unknown[] }>) =>
  (await query(`select id::text, note from effects order by id, note`)).rows

test('on a pool of pg it is a PoolClient: Drizzle and a repository write in it, with a bigint key', async () => {
  const insertNote = (client: pg.PoolClient, id: bigint, note: string) =>
    client.query<{ id: string }>({ text: `insert into effects values ($1, $2) returning id`, values: [id, note] })
  const { app, ear } = open(postgres(pool()))
  const job = app.job('thing.make', {
    key: 'bigint',
    pending,
    run: (id, ctx) =>
      ctx.tx(async (tx) => {
        expect(tx).toBeInstanceOf(pg.Client)
        await drizzle(tx).insert(effects).values({ id, note: 'by drizzle' })
        expect((await insertNote(tx, id, 'by a repository')).rows).toEqual([{ id: '7' }])
        await drizzle(tx).update(things).set({ state: 'done' }).where(eq(things.id, id))
        if (ear.of('job.started').length === 1) throw new Error('all of it is rolled back')
      }),
    retry: { delay: '10ms' },
  })
  await work(app)
  await admin.query(`insert into things values (7)`)
  await job.enqueue(7n)
  await ear.hears('job.settled', { state: 'done' })
  expect(ear.of('job.started')).toHaveLength(2)
  expect(await shown((text) => admin.query(text))).toEqual([
    { id: '7', note: 'by a repository' },
    { id: '7', note: 'by drizzle' },
  ])
})

test('Kysely writes in it, and what it gives back to its pool stays lent until the commit', async () => {
  const { app } = open(postgres(pool()))
  const failing = app.transaction(async (tx) => {
    const kysely = new Kysely<{ effects: { id: bigint; note: string } }>({
      dialect: new PostgresDialect({ pool: { connect: async () => tx, end: async () => {} } }),
    })
    await kysely.insertInto('effects').values({ id: 7n, note: 'by kysely' }).execute()
    expect(await kysely.selectFrom('effects').select('note').execute()).toEqual([{ note: 'by kysely' }])
    throw new Error('and rolled back')
  })
  await expect(failing).rejects.toThrow('and rolled back')
  expect(await shown((text) => admin.query(text))).toEqual([])
})

test('on a url it is a client of pg, too', async () => {
  const { app } = open(postgres<pg.PoolClient>(database.url))
  await app.transaction(async (tx) => {
    expect(tx).toBeInstanceOf(pg.Client)
    await drizzle(tx).insert(effects).values({ id: 9_007_199_254_740_993n, note: 'exact' })
  })
  expect(await shown((text) => admin.query(text))).toEqual([{ id: '9007199254740993', note: 'exact' }])
})

test('on PGlite it is what PGlite hands out: Drizzle writes in it, with a bigint key', async () => {
  const { app, ear } = open(pglite(embedded))
  const job = app.job('thing.make', {
    key: 'bigint',
    pending,
    run: (id, ctx) =>
      ctx.tx(async (tx) => {
        const db = drizzlePglite(tx as unknown as PGlite)
        await db.insert(effects).values({ id, note: 'by drizzle' })
        await tx.query(`insert into effects values ($1, $2)`, [id, 'by hand'])
        await tx.sql`insert into effects values (${id}, 'by its own tag')`
        await db.update(things).set({ state: 'done' }).where(eq(things.id, id))
      }),
  })
  await work(app)
  await embedded.query(`insert into things values (7)`)
  await job.enqueue(7n)
  await ear.hears('job.settled', { state: 'done' })
  expect(await shown((text) => embedded.query(text))).toEqual(
    ['by drizzle', 'by hand', 'by its own tag'].map((note) => ({ id: '7', note })),
  )
})

const given: Record<string, () => StoreDriver> = {
  'a url': () => postgres(database.url),
  'a pool': () => postgres(pool()),
  'a pool of one': () => postgres(pool(1)),
  PGlite: () => pglite(embedded),
}

describe.each(Object.entries(given))('on %s', (name, store) => {
  const query = (text: string) => (name === 'PGlite' ? embedded.query(text) : admin.query(text))

  test('a statement on a transaction that has ended is refused', async () => {
    const { app } = open(store())
    let kept: Transaction | undefined
    await app.transaction(async (tx) => {
      kept = tx
    })
    await expect((async () => kept?.query(`insert into effects values (1)`))()).rejects.toThrow(
      name === 'PGlite' ? /closed/ : /has ended/,
    )
    expect(await shown(query)).toEqual([])
  })

  test('a statement that is not awaited is in the transaction, before its commit', async () => {
    const { app } = open(store())
    await app.transaction(async (tx) => {
      void tx.query(`insert into effects values (1, 'one')`)
    })
    expect(await shown(query)).toEqual([{ id: '1', note: 'one' }])
  })

  test('a failed statement whose error is caught commits nothing, and the transaction says so', async () => {
    const { app, ear } = open(store())
    const mails = app.job('mail.send', { input: z.string() })
    const caught = app.transaction(async (tx) => {
      await mails.enqueue('ada', { tx })
      await tx.query(`select 1 / 0`).catch(() => {})
    })
    await expect(caught).rejects.toThrow(name === 'PGlite' ? /aborted/ : /nothing was committed/)
    expect((await query(`select id from regrow.intents`)).rows).toEqual([])
    expect(ear.told).toEqual([])
  })
})

describe('on Postgres', () => {
  test('what begins or ends a transaction is refused inside one; a savepoint is not', async () => {
    const { app } = open(postgres(pool()))
    const words = [
      'begin',
      'BEGIN isolation level serializable',
      'start transaction',
      'commit',
      ' end',
      'rollback',
      'abort',
      '/* behind a comment */ commit',
      'select 1; commit',
    ]
    const codes: unknown[] = []
    await app.transaction(async (tx) => {
      for (const word of words) codes.push(await tx.query(word).catch(({ code }: { code: string }) => code))
      codes.push(await tx.query({ text: 'commit' }).catch(({ code }: { code: string }) => code))
      await tx.query(`savepoint here`)
      await tx.query(`insert into effects values (1)`)
      await tx.query(`rollback to savepoint here`)
      await tx.query(`insert into effects values (2, 'x; commit'); /* ; commit */ select 1`)
    })
    expect(codes).toEqual(Array(words.length + 1).fill('tx_control'))
    expect(await shown((text) => admin.query(text))).toEqual([{ id: '2', note: 'x; commit' }])
  })

  test.each([
    [
      'a string with a backslash',
      '-c standard_conforming_strings=off',
      String.raw`'it\'s'); commit; begin; select '--'`,
    ],
    ['a function of the name of a block', '', `'x'); create function begin() returns int return 1; commit; begin`],
  ])('nothing commits behind %s', async (_, settings, rest) => {
    const { app } = open(postgres(pool(4, settings)))
    const codes: unknown[] = []
    const failed = app.transaction(async (tx) => {
      await tx.query(`insert into effects values (1, ${rest}`).catch(({ code }) => codes.push(code))
      throw new Error('undo')
    })
    await expect(failed).rejects.toThrow('undo')
    expect(codes).toEqual(['tx_control'])
    expect(await shown((text) => admin.query(text))).toEqual([])
  })

  test.each(['none', 'one'])(
    'S4: a commit that has no text is found before the next statement, of which there is %s',
    async (next) => {
      const { app } = open(postgres(pool()))
      const failed = app.transaction(async (tx) => {
        await tx.query(`insert into effects values (1)`)
        await new Promise<void>((resolve, reject) =>
          tx.query({
            submit: (connection: pg.Connection) => void connection.query('commit'),
            handleCommandComplete: () => {},
            handleReadyForQuery: resolve,
            handleError: reject,
          } as pg.Submittable),
        )
        if (next === 'one') await tx.query(`insert into effects values (2)`).catch(() => {})
      })
      await expect(failed).rejects.toMatchObject({ code: 'tx_control' })
      expect(await shown((text) => admin.query(text))).toEqual([{ id: '1', note: null }])
    },
  )

  test('S4: nothing is written when the first statement was never sent, and its BEGIN with it', async () => {
    const { app } = open(postgres(pool(2)))
    const named = (text: string) => ({ name: 'one_name', text, values: [1] })
    await app.transaction((tx) => tx.query(named('select $1::int')))
    const failed = app.transaction(async (tx) => {
      await tx.query(named('select $1::bigint')).catch(() => {})
      await tx.query(`insert into effects values (1)`).catch(() => {})
    })
    await expect(failed).rejects.toThrow()
    expect(await shown((text) => admin.query(text))).toEqual([])
  })

  test('a transaction of Drizzle inside ctx.tx fails the run: it would commit before the fence', async () => {
    const { app, ear } = open(postgres(pool()))
    const job = app.job('thing.make', {
      key: 'bigint',
      pending,
      retry: { attempts: 1 },
      run: (id, ctx) =>
        ctx.tx((tx) => drizzle(tx).transaction((inner) => inner.insert(effects).values({ id, note: 'early' }))),
    })
    await work(app)
    await admin.query(`insert into things values (7)`)
    await job.enqueue(7n)
    const { state, error } = await ear.hears('job.settled')
    expect({ state, error }).toEqual({ state: 'quarantined', error: expect.stringContaining('inside ctx.tx') })
    expect(await shown((text) => admin.query(text))).toEqual([])
  })

  test('effects and the end of the claim are one transaction of the database: nobody sees one without the other', async () => {
    await admin.query(`
      create table ended (tx xid8 not null);
      create function note_end() returns trigger language plpgsql as
        'begin insert into ended values (pg_current_xact_id()); return null; end';
      create trigger note_end after delete on regrow.ledger for each row execute function note_end()`)
    ends.push(() => admin.query(`drop trigger note_end on regrow.ledger; drop table ended; drop function note_end()`))
    const { app, ear } = open(postgres(database.url))
    const job = app.job('thing.make', {
      key: 'bigint',
      pending,
      run: (id, ctx) =>
        ctx.tx(async (tx) => {
          await tx.query(`insert into effects values ($1, pg_current_xact_id()::text)`, [id])
          await tx.query(`update things set state = 'done' where id = $1`, [id])
        }),
    })
    await work(app)
    await admin.query(`insert into things values (7)`)
    await job.enqueue(7n)
    await ear.hears('job.settled', { state: 'done' })
    const { rows } = await admin.query(`select note from effects`)
    expect(rows).toHaveLength(1)
    expect((await admin.query(`select tx::text as note from ended`)).rows).toEqual(rows)
  })
})
