// Databases as their owners set them up: on each profile a fleet does its work once, also when its queue is lost on the way; and what can
// never succeed there is counted, with its real error.

import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { pledge } from '../../src/base/deferred.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type Context, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { startPgbouncer } from '../../tools/services/index.ts'
import { Ear } from '../flow/world.ts'
import { freshDatabase } from '../services/database.ts'
import { databaseOf, type Profile, type ProfileDatabase, profiles } from '../services/profiles.ts'

const apps: App[] = []
const closing: (() => Promise<unknown>)[] = []
beforeEach(() => {
  apps.length = 0
})
afterEach(async () => {
  for (const app of apps) await app.close()
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(profile: Profile): Promise<{ database: ProfileDatabase; session: pg.Client }> {
  const database = await databaseOf(profile)
  closing.push(() => database.drop())
  const session = await database.session()
  const app = regrow({ store: database.driver() })
  await operate(app).migrate()
  await app.close()
  await session.query(`create table public.rows (id int primary key, state text not null default 'open');
    create table public.effects (id int not null);
    create table public.totals (n int not null);
    insert into public.totals values (0)`)
  return { database, session }
}

type Run = (id: number, ctx: Context) => Promise<unknown>

/** A process of the fleet. */
function start(database: ProfileDatabase, run: Run, retry: object = { attempts: 20, delay: '50ms' }) {
  const app = regrow({ store: database.driver(), log: false })
  apps.push(app)
  const ear = new Ear(app)
  const job = app.job('row', {
    key: 'int',
    pending: sql`select id, now()::date as version from public.rows where state = 'open'`,
    sweep: { every: '1s' },
    retry,
    run: (id, ctx) => run(id, ctx as Context),
  })
  return { app, ear, job, work: () => app.work({ concurrency: 20 }).ready }
}

const done = (id: number) => ({
  text: `with made as (insert into public.effects values ($1)) update public.rows set state = 'done' where id = $1`,
  values: [id],
})

/** Half of the effects are statements; the others are functions that all want one row. */
const effect: Run = async (id, ctx) => {
  if (id % 2 === 0) return ctx.tx(done(id))
  const { text, values } = done(id)
  return ctx.tx(async (tx) => {
    await tx.query(text, values)
    await tx.query('update public.totals set n = n + 1')
  })
}

test.each(Object.values(profiles))(
  'a fleet heals and does each row once: $name',
  { timeout: 60_000 },
  async (profile) => {
    const { database, session } = await open(profile)
    const count = 300
    await session.query(`insert into public.rows select n from generate_series(1, ${count}) n`)
    const fleet = [1, 2].map(() => start(database, effect))
    await Promise.all(fleet.map(({ work }) => work()))
    const settled = () => fleet.reduce((sum, { ear }) => sum + ear.of('job.settled').length, 0)
    await expect.poll(settled, { timeout: 30_000, interval: 5 }).toBeGreaterThan(10)
    // The queue is lost meanwhile, and more work comes.
    await session.query('truncate regrow.hints, regrow.canary')
    await session.query(`insert into public.rows select n from generate_series(${count + 1}, ${count + 20}) n`)
    await fleet[0]?.job.enqueueMany([count + 1, count + 2])
    const open_ = async () =>
      Number((await session.query(`select count(*) from public.rows where state = 'open'`)).rows[0].count)
    await expect.poll(open_, { timeout: 40_000, interval: 100 }).toBe(0)
    const { rows } = await session.query(
      `select count(*)::int as n, count(distinct id)::int as ids from public.effects`,
    )
    expect(rows).toEqual([{ n: count + 20, ids: count + 20 }])
    expect((await session.query('select n from public.totals')).rows).toEqual([{ n: (count + 20) / 2 }])
    expect((await session.query('select * from regrow.ledger')).rows).toEqual([])
    for (const { ear } of fleet) expect(ear.of('queue.down')).toEqual([])
  },
)

describe('what can never succeed is counted', () => {
  const twice = { attempts: 2, delay: '20ms' }
  const stored = async (session: pg.Client) =>
    (await session.query('select state, failures, error from regrow.ledger')).rows

  test('a transaction that conflicts at each try fails with the conflict, and not with what followed from it', async () => {
    const { database, session } = await open(profiles.repeatableRead)
    await session.query('insert into public.rows values (1)')
    let tries = 0
    const { ear, work } = start(
      database,
      (_, ctx) =>
        ctx.tx(async (tx) => {
          tries++
          await tx.query('select n from public.totals')
          await session.query('update public.totals set n = n + 1')
          await tx.query('update public.totals set n = n + 1')
        }),
      twice,
    )
    await work()
    await ear.hears('job.settled', { state: 'quarantined' })
    expect(tries).toBe(20)
    const [row] = await stored(session)
    expect(row).toMatchObject({ state: 'quarantined', failures: 2 })
    expect(row.error).toMatch(/could not serialize access.*40001/s)
  })

  test('a conflict that passes is no failure: the transaction is begun again as a whole', async () => {
    const { database, session } = await open(profiles.repeatableRead)
    await session.query('insert into public.rows values (1)')
    let tries = 0
    const { ear, work } = start(
      database,
      (id, ctx) =>
        ctx.tx(async (tx) => {
          await tx.query('select n from public.totals')
          if (++tries < 3) await session.query('update public.totals set n = n + 1')
          await tx.query('update public.totals set n = n + 10')
          await tx.query(done(id).text, done(id).values)
        }),
      twice,
    )
    await work()
    await ear.hears('job.settled')
    expect(ear.of('job.settled').map(({ state }) => state)).toEqual(['done'])
    expect(tries).toBe(3)
    expect((await session.query('select n from public.totals')).rows).toEqual([{ n: 12 }])
    expect((await session.query('select id from public.effects')).rows).toEqual([{ id: 1 }])
  })

  test('a conflict at the fence begins the transaction again, and not the statement', async () => {
    const { database, session } = await open(profiles.repeatableRead)
    await session.query('insert into public.rows values (1)')
    let tries = 0
    const { ear, work } = start(
      database,
      (id, ctx) =>
        ctx.tx(async (tx) => {
          const { text, values } = done(id)
          await tx.query(text, values)
          if (++tries < 3) await session.query('update regrow.ledger set updated_at = now()')
        }),
      twice,
    )
    await work()
    await ear.hears('job.settled')
    expect(ear.of('job.settled').map(({ state }) => state)).toEqual(['done'])
    expect(tries).toBe(3)
    expect((await session.query('select id from public.effects')).rows).toEqual([{ id: 1 }])
  })

  test('a claim that is freed during a SERIALIZABLE transaction loses its effects (S4)', async () => {
    const { database, session } = await open(profiles.serializable)
    await session.query('insert into public.rows values (1)')
    const freed = pledge()
    const { ear, work } = start(database, (id, ctx) =>
      ctx.tx(async (tx) => {
        await tx.query(done(id).text, done(id).values)
        if (ctx.attempt === 1) {
          await session.query('update regrow.ledger set take = take + 1000')
          freed.resolve()
        }
      }),
    )
    await work()
    await freed.promise
    await ear.hears('job.lease_lost')
    expect((await session.query('select id from public.effects')).rows).toEqual([])
  })

  test('a transaction that is idle for too long is a failure that names the limit', async () => {
    const { database, session } = await open(profiles.shortTimes)
    await session.query('insert into public.rows values (1)')
    const { ear, work } = start(
      database,
      (id, ctx) =>
        ctx.tx(async (tx) => {
          const client = tx as unknown as pg.PoolClient
          const ended = new Promise((resolve) => client.once('end', resolve))
          await client.query(done(id).text, done(id).values)
          await ended
          await client.query('select 1')
        }),
      twice,
    )
    await work()
    await ear.hears('job.settled', { state: 'quarantined' })
    const [row] = await stored(session)
    expect(row).toMatchObject({ state: 'quarantined', failures: 2 })
    expect(row.error).toMatch(/idle.in.transaction/)
    expect((await session.query('select id from public.effects')).rows).toEqual([])
  })
})

test('PgBouncer in statement mode is refused with its reason', async () => {
  const database = await freshDatabase('statement_mode')
  closing.push(() => database.drop())
  const bouncer = await startPgbouncer({ postgres: { url: () => inject('postgresUrl') }, poolMode: 'statement' })
  closing.push(() => bouncer.close())
  const app = regrow({ store: postgres(bouncer.url(database.name)), log: false })
  apps.push(app)
  const refusal = {
    code: 'statement_pooling',
    message: expect.stringMatching(/pool_mode is statement.*pool_mode = transaction/s),
  }
  await expect(operate(app).migrate()).rejects.toMatchObject(refusal)
  app.job('row', { pending: sql`select id from rows`, run: () => {} })
  await expect(app.work().ready).rejects.toMatchObject(refusal)
})
