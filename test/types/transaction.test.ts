// What the compiler knows of ctx.tx and app.transaction: the transaction of the client that the store was given.
// Checked by `tsc`; vitest only runs it, and nothing here is opened.
import { PGlite, type Transaction as PGliteOwn } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { type App, type BatchContext, type Context, regrow, type StoreDriver, sql, type Transaction } from 'regrow'
import { type PgliteTransaction, pglite } from 'regrow/pglite'
import { type PgTransaction, postgres } from 'regrow/postgres'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const pending = sql`select id from things`

test('a pool of pg gives PoolClient, a client itself, a PGlite its transaction', () => {
  expectTypeOf(postgres(new pg.Pool())).toEqualTypeOf<StoreDriver<pg.PoolClient>>()
  expectTypeOf(postgres(new pg.Client())).toEqualTypeOf<StoreDriver<pg.Client>>()
  expectTypeOf(pglite<PGlite>).returns.toEqualTypeOf<StoreDriver<PGliteOwn>>()
})

test('a url or a directory gives a type of regrow, or the one that is named', () => {
  expectTypeOf(postgres('postgres://x')).toEqualTypeOf<StoreDriver<PgTransaction>>()
  expectTypeOf(postgres(async () => 'postgres://x')).toEqualTypeOf<StoreDriver<PgTransaction>>()
  expectTypeOf(postgres(process.env.DATABASE_URL)).toEqualTypeOf<StoreDriver<PgTransaction>>()
  expectTypeOf(postgres<pg.PoolClient>('postgres://x')).toEqualTypeOf<StoreDriver<pg.PoolClient>>()
  expectTypeOf(pglite()).toEqualTypeOf<StoreDriver<PgliteTransaction>>()
  expectTypeOf(pglite('./data')).toEqualTypeOf<StoreDriver<PgliteTransaction>>()
})

test('handlers, batches and app.transaction get it', () => {
  const app = regrow({ store: postgres(new pg.Pool()) })
  expectTypeOf(app).toEqualTypeOf<App<pg.PoolClient>>()
  app.job('inline', {
    pending,
    run: (_, ctx) => {
      expectTypeOf(ctx).toEqualTypeOf<Context<pg.PoolClient>>()
      return ctx.tx(async (tx) => {
        expectTypeOf(tx).toEqualTypeOf<pg.PoolClient>()
        return drizzle(tx)
      })
    },
  })
  const rows = app.job('rows', { key: 'bigint', pending })
  expectTypeOf(rows.handle).parameter(0).parameter(1).toEqualTypeOf<Context<pg.PoolClient>>()
  const batches = app.job('batches', { key: 'bigint', pending, batch: 10 })
  expectTypeOf(batches.handle).parameter(0).parameter(1).toEqualTypeOf<BatchContext<bigint, pg.PoolClient>>()
  const inputs = app.job('inputs', { input: z.string() })
  expectTypeOf(inputs.handle).parameter(0).parameter(1).toEqualTypeOf<Context<pg.PoolClient>>()
  const mails = app.job('mails', { input: z.string(), batch: 10 })
  expectTypeOf(mails.handle).parameter(0).parameter(1).toEqualTypeOf<BatchContext<string, pg.PoolClient>>()
  expectTypeOf(app.transaction<number>)
    .parameter(0)
    .toEqualTypeOf<(tx: pg.PoolClient) => Promise<number>>()
})

test('enqueue takes each of them as { tx }', () => {
  const app = regrow({ store: pglite() })
  const rows = app.job('rows', { pending })
  const inputs = app.job('inputs', { input: z.string() })
  const uses = (each: [pg.PoolClient, pg.Client, PGliteOwn, PgTransaction, PgliteTransaction, Transaction]) => {
    for (const tx of each) {
      void rows.enqueue('a', { tx })
      void inputs.enqueue('a', { tx })
    }
  }
  expectTypeOf(uses).returns.toBeVoid()
})

test('code that knows only what every store can do fits every app and handler', () => {
  const ship = (id: string, ctx: Context) => ctx.tx((tx) => tx.query(`update t set a = 1 where id = $1`, [id]))
  const tell = (app: App) => app.transaction((tx) => tx.query(`select 1`, [1n]))
  const onPool = regrow({ store: postgres(new pg.Pool()) })
  onPool.job('a', { pending, run: ship })
  const onUrl = regrow({ store: postgres('postgres://x') })
  onUrl.job('b', { pending }).handle(ship)
  const onPglite = (db: PGlite) => {
    const app = regrow({ store: pglite(db) })
    app.job('c', { pending, run: ship })
    return tell(app)
  }
  const uses = () => [tell(onPool), tell(onUrl), tell(regrow({ store: pglite() })), onPglite(new PGlite())]
  expectTypeOf(uses).returns.toBeArray()
})

test('a type of regrow says what a statement answers', () => {
  const uses = async (tx: PgTransaction, embedded: PgliteTransaction) => {
    expectTypeOf((await tx.query(`select 1`, [1n, null, new Date()])).rows).toEqualTypeOf<Record<string, unknown>[]>()
    expectTypeOf((await tx.query<{ id: string }>({ text: `select 1`, values: [1] })).rows).toEqualTypeOf<
      { id: string }[]
    >()
    expectTypeOf((await tx.query(`update t set a = 1`)).rowCount).toEqualTypeOf<number | null>()
    expectTypeOf((await embedded.query<{ id: string }>(`select 1`, [1n])).rows).toEqualTypeOf<{ id: string }[]>()
    expectTypeOf((await embedded.query(`update t set a = 1`)).affectedRows).toEqualTypeOf<number | undefined>()
  }
  expectTypeOf(uses).returns.resolves.toBeVoid()
})
