// Handlers that do not end: aborted at their timeout, given up 30 s later, shown as stuck slots, and at half of the slots
// the worker asks to be recycled. In virtual time.

import { describe, expect, test } from 'vitest'
import type { App, Context } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table things (id text primary key, state text not null default 'pending')`)

const add = (...ids: string[]) =>
  world.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(ids)])
const mark = (ctx: Context, id: string, state: string) =>
  ctx.tx((tx) => tx.query(`update things set state = $2 where id = $1`, [id, state]))
const declare = (app: App, run: (id: string, ctx: Context) => unknown, attempts = 5) =>
  app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    timeout: '5s',
    sweep: { every: '1h' },
    retry: { attempts, delay: '1s' },
    run,
  })

/** Handlers that wait until they are let go one by one, whatever their signal says. */
function waiting() {
  const held: (() => void)[] = []
  return {
    hold: () => new Promise<void>((resolve) => held.push(resolve)),
    letGo: (count = 1) => {
      for (const go of held.splice(0, count)) go()
    },
  }
}

const shown = async (app: App) => (await operate(app).status()).workers.map(({ stuck }) => stuck)

test('a run over its timeout: aborted with a reason that names it, given up 30 s later, retried elsewhere, and its late transaction rolled back', async () => {
  const queue = world.queue()
  const [first, second] = [world.app({}, queue), world.app({}, queue)]
  const { hold, letGo } = waiting()
  const aborted: { at: number; reason: unknown }[] = []
  const late: unknown[] = []
  const started = world.clock.now()
  const job = declare(first.app, async (id, ctx) => {
    ctx.signal.addEventListener('abort', () =>
      aborted.push({ at: world.clock.now() - started, reason: ctx.signal.reason }),
    )
    await hold()
    await mark(ctx, id, 'late').catch((error: unknown) => late.push(error))
  })
  declare(second.app, (id, ctx) => mark(ctx, id, `attempt ${ctx.attempt}`))
  const worker = await world.work(first.app, { concurrency: 1 })
  await add('a')
  await job.enqueue('a')
  await world.until(() => first.ear.of('job.started').length === 1)
  const begun = world.clock.now() - started
  await world.work(second.app)
  await world.until(() => first.ear.of('job.settled').length === 1)
  expect(aborted).toMatchObject([{ reason: { code: 'timeout', message: expect.stringContaining('timeout of 5s') } }])
  expect((aborted[0]?.at ?? 0) - begun).toBeGreaterThanOrEqual(5_000)
  expect((aborted[0]?.at ?? 0) - begun).toBeLessThanOrEqual(5_500)
  expect(world.clock.now() - started - begun).toBeGreaterThanOrEqual(35_000)
  expect(world.clock.now() - started - begun).toBeLessThanOrEqual(35_600)
  expect(first.ear.of('job.settled')).toMatchObject([
    { state: 'retrying', error: expect.stringContaining('timeout of 5s') },
  ])
  expect(await world.query(`select holder, failures, crashes from regrow.ledger`)).toEqual([
    { holder: null, failures: 1, crashes: 0 },
  ])
  await world.until(() => second.ear.of('job.settled', { state: 'done' }).length === 1)
  letGo()
  await world.until(() => late.length === 1)
  expect(late).toMatchObject([{ code: 'lease_lost' }])
  expect(await world.query(`select state from things`)).toEqual([{ state: 'attempt 2' }])
  expect(first.ear.of('job.settled')).toHaveLength(1)
  await world.over(worker.stop())
})

test('stuck slots are told by the worker, its row and the status; when a handler ends after all the number goes down', async () => {
  const { app, ear } = world.app()
  const { hold, letGo } = waiting()
  const job = declare(app, hold, 1)
  const worker = await world.work(app, { concurrency: 10 })
  await add('a', 'b')
  await job.enqueueMany(['a', 'b'])
  await world.until(() => ear.of('job.started').length === 2)
  expect(await worker.capacity()).toEqual({ size: 10, free: 8, stuck: 0, recycle: false })
  await world.until(() => ear.of('job.stuck').length === 2)
  await world.pass(3_500)
  expect(await worker.capacity()).toEqual({ size: 10, free: 8, stuck: 2, recycle: false })
  expect(await world.query(`select stuck from regrow.workers`)).toEqual([{ stuck: 2 }])
  expect(await shown(app)).toEqual([2])
  letGo()
  await world.pass(3_500)
  expect(await shown(app)).toEqual([1])
  letGo()
  await world.pass(3_500)
  expect(await shown(app)).toEqual([0])
  expect(await worker.capacity()).toEqual({ size: 10, free: 10, stuck: 0, recycle: false })
  expect(ear.of('worker.recycle')).toEqual([])
})

describe('at half of its slots the worker asks to be recycled', () => {
  test.each([
    [1, 1],
    [2, 1],
    [5, 3],
    [6, 3],
  ])('of %i slots that is %i, and it asks once', async (concurrency, half) => {
    const { app, ear } = world.app()
    const { hold } = waiting()
    const job = declare(app, hold, 1)
    const worker = await world.work(app, { concurrency })
    const ids = Array.from({ length: concurrency }, (_, i) => `k${i}`)
    await add(...ids)
    const [last, ...before] = ids.slice(0, half)
    if (before.length > 0) {
      await job.enqueueMany(before)
      await world.until(() => ear.of('job.stuck').length === half - 1)
      await world.pass(5_000)
      expect(ear.of('worker.recycle')).toEqual([])
      expect(await worker.capacity()).toMatchObject({ stuck: half - 1, recycle: false })
    }
    await job.enqueue(last as string)
    await world.until(() => ear.of('worker.recycle').length === 1)
    expect(ear.of('worker.recycle')).toEqual([{ stuck: half, concurrency }])
    expect(await worker.capacity()).toMatchObject({ stuck: half, recycle: true })
    await job.enqueueMany(ids)
    await world.pass(60_000)
    expect(ear.of('worker.recycle')).toHaveLength(1)
  })
})

test('a stop waits for what runs, not for what is stuck', async () => {
  const { app, ear } = world.app()
  const { hold } = waiting()
  const job = declare(app, (id, ctx) =>
    id === 'stuck' ? hold() : world.clock.sleep(2_000).then(() => mark(ctx, id, 'done')),
  )
  const worker = await world.work(app, { concurrency: 3 })
  await add('stuck', 'runs')
  await job.enqueue('stuck')
  await world.until(() => ear.of('job.stuck').length === 1)
  await world.query(`update things set state = 'given up' where id = 'stuck'`)
  await job.enqueue('runs')
  await world.until(() => ear.of('job.started', { key: 'runs' }).length === 1)
  const at = world.clock.now()
  await world.over(worker.stop())
  expect(world.clock.now() - at).toBeGreaterThanOrEqual(2_000)
  expect(world.clock.now() - at).toBeLessThan(3_000)
  expect(ear.of('job.settled', { key: 'runs' })).toMatchObject([{ state: 'done' }])
  expect(await world.query(`select 1 from regrow.ledger where holder is not null`)).toEqual([])
})
