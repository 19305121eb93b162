// Versions on PGlite in virtual time: what they are worth without one, what changes while a handler runs, and rows whose
// version is their time.
import { describe, expect, test } from 'vitest'
import type { App, Context } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(
  `create table things (id text primary key, state text not null default 'pending', version text, run_at timestamptz)`,
)

const ledger = () => world.query(`select state, failures, version from regrow.ledger`)
const turnTo = (version: string | null) => world.query(`update things set version = $1`, [version])
const finish = (ctx: Context, id: string) =>
  ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))

function declare(app: App, run: (id: string, ctx: Context) => unknown) {
  return app.job('thing.make', {
    pending: sql`select id, version from things where state = 'pending'`,
    retry: { attempts: 5, delay: '1h' },
    sweep: { every: '5s' },
    run,
  })
}

describe('null is no version: it is never another one', () => {
  const changes = [
    [null, 'x'],
    ['x', null],
    [null, null],
  ] as const
  const ends = {
    'back-off': () => {
      throw new Error('not yet')
    },
    quarantine: (_: string, ctx: Context) => ctx.quarantine('look at it'),
  }
  const cases = Object.entries(ends).flatMap(([name, end]) =>
    changes.map(([from, to]) => [name, from, to, end] as const),
  )

  test.each(cases)('%s is not cleared by %s → %s, neither by a hint nor by the sweep', async (_, from, to, end) => {
    const { app, ear } = world.app()
    const job = declare(app, end)
    await world.query(`insert into things values ('a', 'pending', $1)`, [from])
    await world.work(app)
    await world.until(() => ear.of('job.settled').length === 1)
    const before = await ledger()
    await turnTo(to)
    await job.enqueue('a')
    await world.pass(12_000)
    expect(ear.of('job.started')).toHaveLength(1)
    expect(await ledger()).toEqual(before)
    expect(ear.of('sweep.passed').length).toBeGreaterThan(1)
    expect(ear.of('sweep.failed')).toEqual([])
  })

  test('a version that comes after null counts from then on: the next one is new work', async () => {
    const { app, ear } = world.app()
    const job = app.job('thing.make', {
      pending: sql`select id, version from things where state = 'pending'`,
      retry: { delay: '2s' },
      sweep: { every: '1h' },
      run() {
        throw new Error('not yet')
      },
    })
    await world.query(`insert into things values ('a', 'pending', null)`)
    await world.work(app)
    await job.enqueue('a')
    await world.until(() => ear.of('job.settled').length === 1)
    await turnTo('x')
    await world.until(() => ear.of('job.settled').length === 2)
    expect(await ledger()).toEqual([{ state: 'retrying', failures: 2, version: 'x' }])
    await turnTo('y')
    await job.enqueue('a')
    await world.until(() => ear.of('job.settled').length === 3, 100)
    expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 2, 1])
    expect(await ledger()).toEqual([{ state: 'retrying', failures: 1, version: 'y' }])
  })
})

describe('the version changes while the handler runs', () => {
  /** The first run takes 3 s, meanwhile the row turns to version 2; `end` says how it ends. */
  async function changed(end: 'fails' | 'succeeds' | 'succeeds in ctx.tx', enqueue: boolean) {
    const { app, ear } = world.app()
    const keys: string[] = []
    const job = declare(app, async (id, ctx) => {
      keys.push(ctx.idempotencyKey)
      if (keys.length > 1) return finish(ctx, id)
      await world.clock.sleep(3_000)
      if (end === 'fails') throw new Error('not yet')
      if (end === 'succeeds in ctx.tx') await ctx.tx(async () => {})
    })
    await world.query(`insert into things values ('a', 'pending', '1')`)
    await world.work(app)
    await world.until(() => keys.length === 1)
    await turnTo('2')
    if (enqueue) await job.enqueue('a')
    await world.until(() => ear.of('job.settled').length === 2, 20_000)
    await world.pass(12_000)
    expect(keys).toEqual(['thing.make/a/1', 'thing.make/a/2'])
    expect([await ledger(), ear.of('job.no_progress')]).toEqual([[], []])
    expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 1])
    return (ear.times('job.started')[1] as number) - (ear.times('job.settled')[0] as number)
  }

  test.each(['succeeds', 'succeeds in ctx.tx'] as const)('and it %s: the new one runs at once', async (end) => {
    expect(await changed(end, false)).toBeLessThanOrEqual(20)
  })

  test('and it fails: the new one does not wait for the old one’s back-off, with a hint', async () => {
    expect(await changed('fails', true)).toBeLessThanOrEqual(1_000)
  })

  test('and it fails: the sweep finds the new one', async () => {
    expect(await changed('fails', false)).toBeLessThanOrEqual(7_000)
  })
})

test('a row whose version is its next time runs once at each of its times, with a key of its own for each', async () => {
  const { app, ear } = world.app()
  const keys: string[] = []
  app.job('backup.run', {
    pending: sql`select id, run_at as version, run_at from things where run_at <= regrow.clock() + interval '1 minute'`,
    sweep: { every: '20s' },
    async run(id, ctx) {
      keys.push(ctx.idempotencyKey)
      await ctx.tx((tx) => tx.query(`update things set run_at = run_at + interval '30 seconds' where id = $1`, [id]))
    },
  })
  await world.query(`insert into things (id, run_at) values ('a', regrow.clock() + interval '10 seconds')`)
  await world.work(app)
  await world.until(() => keys.length === 3, 80_000)
  expect(keys).toEqual(['00:00:10', '00:00:40', '00:01:10'].map((time) => `backup.run/a/2026-01-01 ${time}+00`))
  const [first, ...others] = ear.times('job.started')
  for (const [i, at] of others.entries()) {
    expect(at - (first as number)).toBeGreaterThanOrEqual(30_000 * (i + 1) - 20)
    expect(at - (first as number)).toBeLessThanOrEqual(30_000 * (i + 1) + 20)
  }
  expect([ear.of('job.no_progress'), await ledger()]).toEqual([[], []])
})

test('keys and versions that hold a slash have idempotency keys of their own', async () => {
  const { app, ear } = world.app()
  const keys: string[] = []
  declare(app, async (id, ctx) => {
    keys.push(ctx.idempotencyKey)
    await finish(ctx, id)
  })
  await world.query(
    `insert into things (id, version) values ('a', 'b/c'), ('a/b', 'c'), ('a/b/c', null), ('a%2Fb', 'c')`,
  )
  await world.work(app)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 4)
  expect(new Set(keys).size).toBe(4)
  expect(keys.every((key) => key.startsWith('thing.make/a'))).toBe(true)
})
