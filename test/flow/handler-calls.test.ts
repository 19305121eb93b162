// How handlers are called: how many keys at once, which attempt, and what counts as a failure of theirs.
import { setTimeout as wait } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { type App, type EventMap, regrow, sql } from '../../src/index.ts'

let db: PGlite
let app: App

beforeAll(async () => {
  db = new PGlite()
  await db.exec(`create table things (id int primary key, version int, state text not null default 'pending')`)
})
beforeEach(() => {
  app = regrow({ store: pglite(db) })
})
afterEach(async () => {
  await app.close()
  await db.exec(`truncate things, regrow.ledger, regrow.intents, regrow.sweeps`)
})
afterAll(() => db.close())

/** The first `times` events of that name. */
function heard<Name extends keyof EventMap>(name: Name, times = 1): Promise<EventMap[Name][]> {
  const seen: EventMap[Name][] = []
  return new Promise((resolve) => {
    app.on(name, (detail) => {
      seen.push(detail as EventMap[Name])
      if (seen.length === times) resolve(seen)
    })
  })
}

test('a handler of many keys gets no more than its batch, however many slots are free', async () => {
  await db.exec(`insert into things (id) select n from generate_series(1, 60) n`)
  const job = app.job('thing.many', {
    key: 'int',
    pending: sql`select id from things where state = 'pending'`,
    batch: 10,
  })
  const sizes: number[] = []
  const handler = job.handle((ids, ctx) => {
    sizes.push(ids.length)
    return ctx.tx((tx) =>
      tx.query(`update things set state = 'done' where id = any($1::text::int[])`, [`{${ids.join(',')}}`]),
    )
  })
  await job.enqueueMany(Array.from({ length: 60 }, (_, i) => i + 1))
  const done = heard('job.settled', 60)
  const worker = app.work({ concurrency: 50, handlers: [handler] })
  await done
  await worker.stop()
  expect(Math.max(...sizes)).toBeLessThanOrEqual(10)
})

test('a run that ends because its worker stops is given back, and is no failure', async () => {
  const job = app.job('wait.long', {
    input: z.object({}),
    run: (_input, ctx) => wait(60_000, undefined, { signal: ctx.signal }),
  })
  await job.enqueue({})
  const started = heard('job.started')
  const worker = app.work()
  await started
  await worker.stop({ grace: 0 })
  const { rows } = await db.query(`select state, failures, crashes, error from regrow.ledger`)
  expect(rows).toEqual([{ state: 'retrying', failures: 0, crashes: 0, error: null }])
})

test('a stored input that no longer fits its schema fails with the field and the complaint', async () => {
  const before = regrow({ store: pglite(db) })
  await before.job('mail.send', { input: z.object({ to: z.string() }) }).enqueue({ to: 'ada' })
  await before.close()
  app.job('mail.send', { input: z.object({ to: z.number() }), run() {} })
  const settled = heard('job.settled')
  const worker = app.work()
  const [first] = await settled
  await worker.stop()
  expect(first?.error).toMatch(/does not fit the schema: to: .*expected number/)
})

test('job.started tells the attempt that ctx.attempt tells, and a new version begins with 1', async () => {
  await db.exec(`insert into things (id, version) values (1, 1)`)
  const attempts: number[] = []
  app.job('thing.make', {
    key: 'int',
    pending: sql`select id, version from things where state = 'pending'`,
    retry: { delay: 0 },
    async run(id, ctx) {
      attempts.push(ctx.attempt)
      if (attempts.length === 3) return ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
      if (attempts.length === 2) await db.query(`update things set version = 2 where id = $1`, [id])
      throw new Error('not yet')
    },
  })
  const started = heard('job.started', 3)
  const settled = heard('job.settled', 3)
  const worker = app.work()
  const told = await started
  await settled
  await worker.stop()
  expect(attempts).toEqual([1, 2, 1])
  expect(told.map(({ attempt }) => attempt)).toEqual(attempts)
})

test.each(['snooze', 'quarantine'] as const)(
  'ctx.tx of a run that was marked with %s commits nothing when its claim is gone',
  async (mark) => {
    await db.exec(`insert into things (id) values (1)`)
    app.job('thing.make', {
      key: 'int',
      pending: sql`select id from things where state = 'pending'`,
      async run(id, ctx) {
        if (mark === 'snooze') ctx.snooze()
        else ctx.quarantine('look at it')
        // Somebody else has the key from here on.
        await db.query(`update regrow.ledger set take = take + 1000 where job = 'thing.make'`)
        await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
      },
    })
    const lost = heard('job.lease_lost')
    const worker = app.work()
    await lost
    await worker.stop()
    expect((await db.query(`select state from things`)).rows).toEqual([{ state: 'pending' }])
  },
)
