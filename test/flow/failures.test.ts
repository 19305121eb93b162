// What fails: back-off, attempts, quarantine, time limits, bad keys and strange things thrown. The worker lives on.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { App, Context } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(
  `create table things (id text primary key, state text not null default 'pending', version int not null default 1, divisor int not null default 1)`,
)

const pending = sql`select id from things where state = 'pending'`
const add = (...ids: string[]) =>
  world.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(ids)])
const done = (ctx: Context, id: string) =>
  ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
const ledger = () => world.query(`select key, state, failures, crashes, holder, error from regrow.ledger order by key`)

test('a handler that always throws runs its attempts, each wait twice the last within a quarter, then is quarantined', async () => {
  const { app, queue, ear } = world.app()
  const attempts: number[] = []
  const job = app.job('thing.make', {
    pending,
    retry: { attempts: 5, delay: '1s' },
    sweep: { every: '5s' },
    run(_, ctx) {
      attempts.push(ctx.attempt)
      throw new Error('no; password=hunter2')
    },
  })
  await world.work(app)
  await add('a')
  await job.enqueue('a')
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1)
  expect(attempts).toEqual([1, 2, 3, 4, 5])
  const starts = ear.times('job.started')
  const waits = starts.slice(1).map((at, i) => at - (starts[i] as number))
  for (const [i, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(750 * 2 ** i)
    expect(wait).toBeLessThanOrEqual(1_250 * 2 ** i + 1)
  }
  expect(await ledger()).toEqual([
    {
      key: 'a',
      state: 'quarantined',
      failures: 5,
      crashes: 0,
      holder: null,
      error: expect.stringMatching(/^Error: no; password=\[redacted\]\n/),
    },
  ])
  await queue.wipe()
  await world.pass(20_000)
  expect(ear.of('job.started')).toHaveLength(5)
})

test('a retry survives the loss of the queue: the sweep hints it for its time', async () => {
  const { app, queue, ear } = world.app()
  const job = app.job('thing.make', {
    pending,
    retry: { delay: '8s' },
    sweep: { every: '5s' },
    run(id, ctx) {
      if (ctx.attempt === 1) throw new Error('not yet')
      return done(ctx, id)
    },
  })
  await world.work(app)
  await add('a')
  await job.enqueue('a')
  await world.until(() => ear.of('job.settled').length === 1)
  expect(await queue.wipe()).toBe(1)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
  const [, second] = ear.times('job.started')
  expect(second).toBeGreaterThanOrEqual(6_000)
  expect(second).toBeLessThanOrEqual(10_001)
})

describe('a new version is new work', () => {
  const declare = (app: App) =>
    app.job('thing.make', {
      pending: sql`select id, version from things where state = 'pending'`,
      retry: { attempts: 2, delay: '1h' },
      sweep: { every: '5s' },
      async run(id, ctx) {
        const [row] = await world.query<{ version: number }>(`select version from things where id = $1`, [id])
        if (row?.version === 1) throw new Error('version 1 is broken')
        if (id === 'poison') return ctx.quarantine('version 1')
        return done(ctx, id)
      },
    })

  test.each(['enqueue', 'sweep'])('it clears back-off, found by %s', async (by) => {
    const { app, ear } = world.app()
    const job = declare(app)
    await world.work(app)
    await add('a')
    await job.enqueue('a')
    await world.until(() => ear.of('job.settled').length === 1)
    await job.enqueue('a')
    await world.pass(20_000)
    expect(ear.of('job.started')).toHaveLength(1)
    await world.query(`update things set version = 2`)
    if (by === 'enqueue') await job.enqueue('a')
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1, by === 'enqueue' ? 1_000 : 10_000)
    expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 1])
    expect(await ledger()).toEqual([])
  })

  test.each(['enqueue', 'sweep'])('it clears quarantine, found by %s', async (by) => {
    const { app, ear } = world.app()
    const job = app.job('thing.make', {
      pending: sql`select id, version from things where state = 'pending'`,
      sweep: { every: '5s' },
      run(id, ctx) {
        if (ear.of('job.started').length === 1) return ctx.quarantine('look at it')
        return done(ctx, id)
      },
    })
    await world.work(app)
    await add('a')
    await job.enqueue('a')
    await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1)
    await job.enqueue('a')
    await world.pass(20_000)
    expect(ear.of('job.started')).toHaveLength(1)
    await world.query(`update things set version = 2`)
    if (by === 'enqueue') await job.enqueue('a')
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1, by === 'enqueue' ? 1_000 : 10_000)
    expect(await ledger()).toEqual([])
  })
})

describe('time limits', () => {
  test('at the timeout the signal aborts; what the handler throws then is its failure', async () => {
    const { app, ear } = world.app()
    const job = app.job('thing.make', {
      pending,
      timeout: '5s',
      retry: { delay: '1h' },
      run: (_, ctx) =>
        new Promise((_, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
        }),
    })
    await world.work(app)
    await add('a')
    await job.enqueue('a')
    await world.until(() => ear.of('job.settled').length === 1)
    expect(ear.times('job.settled')[0]).toBeGreaterThanOrEqual(5_000)
    expect(ear.times('job.settled')[0]).toBeLessThanOrEqual(5_500)
    expect(ear.of('job.settled')).toMatchObject([
      { state: 'retrying', error: expect.stringContaining('took longer than its timeout of 5s') },
    ])
    expect(ear.of('job.stuck')).toEqual([])
  })

  test('30 s later the claim is given up and retried; what the old call writes then is rolled back', async () => {
    const { app, ear } = world.app()
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    let late: unknown
    const job = app.job('thing.make', {
      pending,
      timeout: '5s',
      retry: { delay: '1s' },
      async run(id, ctx) {
        if (ctx.attempt > 1) return done(ctx, id)
        await held
        await ctx
          .tx((tx) => tx.query(`insert into things (id) values ('late')`))
          .catch((error: unknown) => {
            late = error
          })
      },
    })
    await world.work(app, { concurrency: 2 })
    await add('a')
    await job.enqueue('a')
    await world.until(() => ear.of('job.stuck').length === 1)
    expect(ear.times('job.stuck')[0]).toBeGreaterThanOrEqual(35_000)
    expect(ear.times('job.stuck')[0]).toBeLessThanOrEqual(35_500)
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
    expect(ear.of('job.settled').map(({ state }) => state)).toEqual(['retrying', 'done'])
    letGo()
    await world.until(() => late !== undefined)
    expect(late).toMatchObject({ code: 'lease_lost' })
    expect(await world.query(`select id, state from things`)).toEqual([{ id: 'a', state: 'done' }])
  })

  test('a stuck handler keeps its slot until it really ends', async () => {
    const { app, ear } = world.app()
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const job = app.job('thing.make', {
      pending,
      timeout: '1s',
      retry: { attempts: 1 },
      run: (id, ctx) => (id === 'stuck' ? held : done(ctx, id)),
    })
    await world.work(app, { concurrency: 1 })
    await add('stuck', 'next')
    await job.enqueue('stuck')
    await world.until(() => ear.of('job.settled', { key: 'stuck', state: 'quarantined' }).length === 1)
    await job.enqueue('next')
    await world.pass(10_000)
    expect(ear.of('job.started', { key: 'next' })).toEqual([])
    letGo()
    await world.until(() => ear.of('job.settled', { key: 'next', state: 'done' }).length === 1)
  })
})

describe('whatever a handler throws is a failure of its key, and the worker lives on', () => {
  const throwing = (name: string) =>
    Object.defineProperty(new Error('x'), name, {
      get() {
        throw new Error('a trap')
      },
    })
  const things: [what: string, thrown: () => unknown, error: RegExp][] = [
    ['an error', () => new Error('plain'), /^Error: plain\n/],
    ['nothing', () => undefined, /^Thrown, but not an Error: undefined$/],
    ['null', () => null, /null/],
    ['a text', () => 'just text', /^just text$/],
    ['a text with NUL', () => 'a\0b', /^ab$/],
    ['an error whose stack throws', () => throwing('stack'), /^x$/],
    ['an object without a prototype', () => Object.create(null), /\{\}/],
    ['a lone surrogate', () => 'a\uD800', /^a\uFFFD$/],
    ['a megabyte', () => 'x'.repeat(1_000_000), /^x{8000,8192}…$/],
  ]
  test.each(things)('%s', async (_, thrown, error) => {
    const { app, ear } = world.app()
    const job = app.job('thing.make', {
      pending,
      retry: { attempts: 1 },
      run: (id, ctx) => (id === 'bad' ? Promise.reject(thrown()) : done(ctx, id)),
    })
    await world.work(app)
    await add('bad', 'good')
    await job.enqueueMany(['bad', 'good'])
    await world.until(() => ear.of('job.settled').length === 2, 5_000)
    expect(ear.of('job.settled', { key: 'good' })).toMatchObject([{ state: 'done' }])
    expect(ear.of('job.settled', { key: 'bad' })).toMatchObject([
      { state: 'quarantined', error: expect.stringMatching(error) },
    ])
    expect(ear.of('loop.failed')).toEqual([])
  })

  test('a reason for quarantine that is no text', async () => {
    const { app, ear } = world.app()
    const job = app.job('thing.make', { pending, run: (_, ctx) => ctx.quarantine(new Error('given so') as never) })
    await world.work(app)
    await add('a')
    await job.enqueue('a')
    await world.until(() => ear.of('job.settled').length === 1, 5_000)
    expect(ear.of('job.settled')).toMatchObject([{ state: 'quarantined', error: expect.stringContaining('given so') }])
  })
})

test('a key that breaks the check is bisected out: it fails alone, and at last is quarantined', async () => {
  const { app, ear } = world.app()
  const ran: string[] = []
  const job = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending' and 10 / divisor > 0`,
    retry: { attempts: 2, delay: '1s' },
    sweep: { every: '1h' },
    run(id, ctx) {
      ran.push(id)
      return done(ctx, id)
    },
  })
  const ids = Array.from({ length: 9 }, (_, i) => `k${i}`)
  await world.work(app)
  await add(...ids)
  await world.query(`update things set divisor = 0 where id = 'k4'`)
  await job.enqueueMany(ids)
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 8)
  expect(ran.sort()).toEqual(ids.filter((id) => id !== 'k4'))
  expect(ear.of('job.settled', { key: 'k4' }).map(({ state }) => state)).toEqual(['retrying', 'quarantined'])
  expect(await ledger()).toMatchObject([
    { key: 'k4', state: 'quarantined', error: expect.stringContaining('division by zero') },
  ])
})

test('a query that is broken for every key is nobody’s failure: the hints go back until it is mended', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending' and 10 / divisor > 0`,
    retry: { attempts: 1 },
    sweep: { every: '1h' },
    run: (id, ctx) => done(ctx, id),
  })
  await world.work(app)
  await add('a', 'b', 'c')
  await world.query(`update things set divisor = 0`)
  await job.enqueueMany(['a', 'b', 'c'])
  await world.until(() => ear.of('loop.failed').length >= 3)
  expect(await ledger()).toEqual([])
  await world.query(`update things set divisor = 1`)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 3, 5_000)
})

test('an input that no longer fits its schema fails with the way out', async () => {
  const before = world.app()
  await before.app.job('mail.send', { input: z.object({ to: z.string() }) }).enqueue({ to: 'ada' })
  const { app, ear } = world.app()
  const ran: unknown[] = []
  app.job('mail.send', { input: z.object({ to: z.email() }), retry: { attempts: 1 }, run: (input) => ran.push(input) })
  await world.work(app)
  await world.until(() => ear.of('job.settled').length === 1)
  expect(ear.of('job.settled')).toMatchObject([
    { state: 'quarantined', error: expect.stringMatching(/does not fit the schema: to: .*Accept the old shape too/s) },
  ])
  expect(ran).toEqual([])
  expect(await world.query(`select input from regrow.intents`)).toEqual([{ input: { to: 'ada' } }])
})
