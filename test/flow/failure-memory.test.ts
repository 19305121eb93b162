// What failed, and what has to wait, is remembered in the store: after the queue is wiped and its hints are brought back,
// nothing starts early, nothing quarantined starts, and attempts are counted on (S6, S7, M14, M40).
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type App, sql } from '../../src/index.ts'
import { Sweeping } from '../postgres/sweeping.ts'
import { type Ear, openPglite, World } from './world.ts'

const tables = `create table things (
  id text collate "C" primary key, state text not null default 'pending', run_at timestamptz, version text)`
const finish = `update things set state = 'done' where id = $1`

describe('in virtual time', () => {
  let db: PGlite
  let world: World

  beforeAll(async () => {
    db = await openPglite(tables)
  })
  beforeEach(async () => {
    world = await World.begin(db, 'things')
  })
  afterAll(() => db.close())

  /** Wipes the queue, and waits until the loss was noticed and everything was brought back. */
  async function wipe(queue: ReturnType<World['queue']>, ear: Ear): Promise<void> {
    const healed = ear.of('queue.healed').length
    await queue.wipe()
    await world.until(() => ear.of('queue.healed').length > healed, 10_000)
  }

  const swept = { sweep: { every: '1h' }, retry: { backoff: 'fixed', delay: '1m', attempts: 3 } } as const
  const startsOf = (ear: Ear, key: string) =>
    ear.told.filter(({ event, detail }) => event === 'job.started' && Reflect.get(detail, 'key') === key)

  test('a key in back-off starts at its retry_at, however often the queue is wiped, as the attempt that it is', async () => {
    const { app, queue, ear } = world.app()
    app.job('thing.make', {
      ...swept,
      pending: sql`select id from things where state = 'pending'`,
      async run(id, ctx) {
        if (ctx.attempt < 3) throw new Error('not yet')
        await world.query(finish, [id])
      },
    })
    await world.work(app)
    await world.query(`insert into things (id) values ('a')`)
    await world.query(`update regrow.sweeps set next_at = regrow.clock()`)
    for (const attempt of [1, 2]) {
      await world.until(() => ear.of('job.settled', { state: 'retrying' }).length === attempt, 90_000)
      const [row] = await world.query<{ ms: number }>(
        `select (extract(epoch from retry_at - regrow.clock()) * 1000)::float8 as ms from regrow.ledger`,
      )
      const retryAt = (ear.times('job.settled').at(-1) as number) + (row?.ms as number)
      expect(row?.ms).toBeGreaterThan(40_000)
      for (let n = 0; n < 3; n++) {
        await wipe(queue, ear)
        await world.pass(5_000)
      }
      await world.until(() => startsOf(ear, 'a').length === attempt + 1, 90_000)
      const start = startsOf(ear, 'a').at(-1)
      expect(start?.at).toBeGreaterThanOrEqual(Math.floor(retryAt))
      expect(start?.at).toBeLessThan(retryAt + 100)
      expect(start?.detail).toMatchObject({ attempt: attempt + 1 })
    }
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
    expect(ear.of('queue.lost').length).toBe(6)
    // It came back as a delayed hint, not as one that the take had to refuse.
    expect(ear.of('hint.refused')).toEqual([])
  })

  test('intents with { in } and { at }, and rows with run_at, start at their time after a wipe', async () => {
    const { app, queue, ear } = world.app()
    const mail = app.job('mail', { input: z.object({ to: z.string() }), sweep: { every: '1h' }, run() {} })
    app.job('thing.make', {
      sweep: { every: '1h' },
      pending: sql`select id, run_at from things where state = 'pending'`,
      run: (id) => world.query(finish, [id]),
    })
    await world.work(app)
    await mail.enqueue({ to: 'a' }, { in: '60s' })
    await mail.enqueue({ to: 'b' }, { at: new Date(world.clock.wall() + 90_000) })
    await world.query(`insert into things (id, run_at) values ('row', regrow.clock() + interval '75 seconds')`)
    for (let n = 0; n < 3; n++) {
      await wipe(queue, ear)
      await world.pass(8_000)
    }
    expect((await queue.count(['mail'])).get('mail')).toEqual({ due: 0, delayed: 2 })
    expect(ear.of('job.started')).toEqual([])
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 3, 90_000)
    const starts = ear.told.filter(({ event }) => event === 'job.started')
    expect(starts.map(({ detail }) => Reflect.get(detail, 'job'))).toEqual(['mail', 'thing.make', 'mail'])
    for (const [i, at] of [60_000, 75_000, 90_000].entries()) {
      expect(starts[i]?.at).toBeGreaterThanOrEqual(at)
      expect(starts[i]?.at).toBeLessThan(at + 100)
    }
    expect(ear.of('hint.refused')).toEqual([])
  })

  test('what is quarantined stays so: nothing brings it back, and an enqueue starts nothing', async () => {
    const { app, queue, ear } = world.app()
    const job = app.job('thing.make', {
      sweep: { every: '1h' },
      retry: { attempts: 2, backoff: 'fixed', delay: '1s' },
      pending: sql`select id from things where state = 'pending'`,
      async run(id) {
        if (id.startsWith('bad')) throw new Error('never')
        await world.query(finish, [id])
      },
    })
    await world.work(app)
    await world.query(`insert into things (id) select 'bad' || n from generate_series(1, 20) n`)
    await world.query(`update regrow.sweeps set next_at = regrow.clock()`)
    await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 20, 60_000)
    const begun = ear.of('job.started').length
    expect(begun).toBe(40)
    await world.query(`insert into things (id) values ('good')`)
    for (let n = 0; n < 3; n++) {
      await wipe(queue, ear)
      await world.pass(3_000)
    }
    expect(ear.of('sweep.passed').at(-1)).toMatchObject({ seen: 20, pushed: 0, held: 20 })
    await job.enqueueMany(['bad1', 'bad2'])
    await world.until(() => ear.of('hint.refused', { why: 'quarantined' }).length === 2)
    await world.pass(10_000)
    expect(ear.of('job.started').length - begun).toBe(1)
    expect(startsOf(ear, 'good')).toHaveLength(1)
    expect(await world.query(`select count(*)::int as n from regrow.ledger where state = 'quarantined'`)).toEqual([
      { n: 20 },
    ])
  })
})

describe('on a real Postgres', () => {
  let sweeping: Sweeping

  beforeAll(async () => {
    sweeping = await Sweeping.open('failure_memory', `${tables}; create table starts (key text, at timestamptz)`)
  })
  afterAll(() => sweeping.close())

  const noted = (key: string) => sweeping.query(`insert into starts values ($1, clock_timestamp())`, [key])

  function jobs(app: App) {
    const mail = app.job('mail', {
      input: z.object({ to: z.string() }),
      sweep: { every: '1h' },
      run: async (_, ctx) => void (await noted(ctx.idempotencyKey)),
    })
    app.job('thing.make', {
      sweep: { every: '1h' },
      retry: { attempts: 2, backoff: 'fixed', delay: '5s' },
      pending: sql`select id, run_at from things where state = 'pending'`,
      async run(id, ctx) {
        await noted(id)
        if (id === 'bad') return ctx.quarantine('for a person')
        if (id === 'fails' && ctx.attempt === 1) throw new Error('not yet')
        await sweeping.query(finish, [id])
      },
    })
    return mail
  }

  test('back-off, stored delays and quarantine hold when the hints and their canary are gone', async () => {
    const { app, ear } = sweeping.app()
    const mail = jobs(app)
    await sweeping.query(`insert into things (id, run_at) values
      ('bad', null), ('fails', null), ('row', clock_timestamp() + interval '5 seconds')`)
    await mail.enqueue({ to: 'a' }, { in: '6s' })
    await sweeping.work(app)
    await ear.until(() => ear.of('job.settled', { job: 'thing.make' }).length === 2)
    const due = await sweeping.query<{ key: string; at: Date }>(`
      select key, retry_at as at from regrow.ledger where key = 'fails'
      union all select id, run_at from things where id = 'row' union all select 'mail', run_at from regrow.intents`)
    expect(due).toHaveLength(3)
    await sweeping.query(`truncate regrow.hints, regrow.canary`)
    await ear.hears('queue.healed')
    expect(ear.of('queue.lost')).toMatchObject([{ how: 'missing' }])
    await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 3)
    const starts = await sweeping.query<{ key: string; at: Date }>(`select key, at from starts order by at`)
    expect(starts.filter(({ key }) => key === 'bad')).toHaveLength(1)
    for (const { key, at } of due) {
      const started = starts
        .filter((start) => start.key.startsWith(key))
        .at(-1)
        ?.at.getTime() as number
      expect(started).toBeGreaterThanOrEqual(at.getTime())
      expect(started).toBeLessThan(at.getTime() + 3_000)
    }
    expect(starts).toHaveLength(5)
    expect(await sweeping.query(`select key, state from regrow.ledger`)).toEqual([{ key: 'bad', state: 'quarantined' }])
  })
})
