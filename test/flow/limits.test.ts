// `concurrency` of a job: calls of its handler at a time in one process, beside the process's own, in virtual time.
import { describe, expect, test } from 'vitest'
import type { App } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import type { MemoryQueue } from '../../src/queue/memory.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table few (id text primary key, state text not null default 'pending');
     create table rest (id text primary key, state text not null default 'pending')`)

const ids = (count: number) => Array.from({ length: count }, (_, i) => `k${i}`)
const add = (table: string, count: number) =>
  world.query(`insert into ${table} select 'k' || n from generate_series(0, ${count - 1}) n`)

/** Two jobs whose calls take `ms` of virtual time and are counted while they run. */
function jobs(app: App, ms: { few: number; rest: number }, concurrency: number) {
  const running = { few: 0, rest: 0 }
  const seen: { few: number; rest: number }[] = []
  const declare = (name: 'few' | 'rest', options: { concurrency?: number }) =>
    app.job(name, {
      pending: { text: `select id from ${name} where state = 'pending'`, values: [] },
      sweep: { every: '1h' },
      ...options,
      async run(id, ctx) {
        running[name]++
        seen.push({ ...running })
        await world.clock.sleep(ms[name])
        running[name]--
        await ctx.tx((tx) => tx.query(`update ${name} set state = 'done' where id = $1`, [id]))
      },
    })
  const [few, rest] = [declare('few', { concurrency }), declare('rest', {})]
  return { few, rest, most: (name: 'few' | 'rest') => Math.max(0, ...seen.map((each) => each[name])), seen }
}

/** Counts the pops that a queue is asked for: all of them, and those of one job. */
function counting(queue: MemoryQueue): { count: number; of: Map<string, number> } {
  const pops = { count: 0, of: new Map<string, number>() }
  const pop = queue.pop.bind(queue)
  queue.pop = (...args) => {
    pops.count++
    for (const { job } of args[0].jobs) pops.of.set(job, (pops.of.get(job) ?? 0) + 1)
    return pop(...args)
  }
  return pops
}

test('no more calls of a job run at a time than its limit, and another job fills the other slots', async () => {
  const { app, ear } = world.app()
  const { few, rest, most, seen } = jobs(app, { few: 100, rest: 100 }, 2)
  await world.work(app, { concurrency: 5 })
  await add('few', 12)
  await add('rest', 18)
  await few.enqueueMany(ids(12))
  await rest.enqueueMany(ids(18))
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 30)
  expect(most('few')).toBe(2)
  expect(seen).toContainEqual({ few: 2, rest: 3 })
  expect(Math.max(...seen.map((each) => each.few + each.rest))).toBe(5)
})

test('slots that become free go to the jobs in turn, and fresh hints of any job go before swept ones', async () => {
  const { app, ear } = world.app()
  const { rest } = jobs(app, { few: 100, rest: 100 }, 10)
  await add('few', 40)
  await world.work(app, { concurrency: 1 })
  await world.until(() => ear.of('job.started').length === 5)
  await add('rest', 40)
  await rest.enqueueMany(ids(40))
  const before = ear.of('job.started').length
  await world.until(() => ear.of('job.started').length === before + 20)
  const started = ear.of('job.started').slice(before, before + 20)
  // The sweep found `few`, the enqueues of `rest` are fresh: a tenth of the pops is left to what a sweep found.
  expect(started.filter(({ job }) => job === 'few').length).toBeGreaterThanOrEqual(1)
  expect(started.filter(({ job }) => job === 'few').length).toBeLessThanOrEqual(3)
})

test('of two jobs with fresh hints each gets its turn', async () => {
  const { app, ear } = world.app()
  const { few, rest } = jobs(app, { few: 100, rest: 100 }, 10)
  await add('few', 40)
  await add('rest', 40)
  await world.work(app, { concurrency: 1 })
  await few.enqueueMany(ids(40))
  await rest.enqueueMany(ids(40))
  await world.until(() => ear.of('job.started').length === 31)
  const started = ear.of('job.started').slice(1, 31)
  const share = started.filter(({ job }) => job === 'few').length
  expect(share).toBeGreaterThanOrEqual(8)
  expect(share).toBeLessThanOrEqual(22)
})

test('a job below its limit again starts its next key at once, though the others have nothing to do', async () => {
  const { app, ear } = world.app()
  const { few, most } = jobs(app, { few: 10, rest: 10 }, 1)
  await world.work(app)
  await add('few', 20)
  await few.enqueueMany(ids(20))
  await world.until(() => ear.of('job.settled', { job: 'few', state: 'done' }).length === 20)
  // Twenty runs of 10 ms each; waiting for the poll of a second between them would take twenty seconds.
  expect(ear.times('job.settled').at(-1)).toBeLessThan(1_000)
  expect(most('few')).toBe(1)
})

describe('a job at its limit', () => {
  test('does not keep the queue busy: the others are polled for once a second', async () => {
    const { app, queue, ear } = world.app()
    const { few } = jobs(app, { few: 20_000, rest: 10 }, 1)
    await world.work(app)
    await add('few', 2)
    await few.enqueueMany(ids(2))
    await world.until(() => ear.of('job.started').length === 1)
    const pops = counting(queue)
    await world.pass(10_000)
    expect(pops.count).toBeGreaterThanOrEqual(9)
    expect(pops.count).toBeLessThanOrEqual(12)
  })

  test('with no other beside it is not popped for at all, and its next start is at once', async () => {
    const { app, queue, ear } = world.app()
    const { few } = jobs(app, { few: 20_000, rest: 10 }, 1)
    await world.work(app, { only: 'few', concurrency: 3 })
    await add('few', 2)
    await few.enqueueMany(ids(2))
    await world.until(() => ear.of('job.started').length === 1)
    const pops = counting(queue)
    await world.pass(10_000)
    expect(pops.of.get(few.name)).toBeUndefined()
    // What hands slots over is there in every worker, and polled for once a second.
    expect(pops.count).toBeLessThanOrEqual(12)
    await world.until(() => ear.of('job.started').length === 2)
    const [first, second] = ear.times('job.started') as [number, number]
    expect(second - first).toBe(20_000)
  })

  test('has its hints looked at again when there is room, and holds up nobody until then', async () => {
    const { app, queue, ear } = world.app()
    const { few, rest } = jobs(app, { few: 10_000, rest: 10 }, 1)
    await world.work(app)
    // Its row is not there: to be looked at again 200 ms from now, and by then the job is at its limit.
    await few.enqueue('lost')
    await world.until(() => ear.of('hint.refused', { key: 'lost', why: 'not_pending' }).length === 1)
    await add('few', 1)
    await few.enqueue('k0')
    await world.until(() => ear.of('job.started', { job: 'few' }).length === 1)
    const pops = counting(queue)
    await world.pass(5_000)
    expect(pops.count).toBeLessThanOrEqual(7)
    expect(ear.of('hint.refused', { key: 'lost' })).toHaveLength(1)
    await add('rest', 1)
    const at = world.clock.now()
    await rest.enqueue('k0')
    await world.until(() => ear.of('job.settled', { job: 'rest', state: 'done' }).length === 1)
    expect(world.clock.now() - at).toBeLessThan(50)
    await world.until(() => ear.of('hint.refused', { key: 'lost', why: 'not_pending' }).length === 2)
    expect(ear.times('hint.refused', { key: 'lost' })[1]).toBe(ear.times('job.settled', { job: 'few' })[0])
  })
})

test('a batch counts as one call, however many keys it has', async () => {
  const { app, ear } = world.app()
  const job = app.job('few', {
    pending: sql`select id from few where state = 'pending'`,
    sweep: { every: '1h' },
    concurrency: 2,
    batch: 3,
  })
  let calls = 0
  let most = 0
  const sizes: number[] = []
  const handler = job.handle(async (keys, ctx) => {
    most = Math.max(most, ++calls)
    sizes.push(keys.length)
    await world.clock.sleep(100)
    calls--
    await ctx.tx((tx) => tx.query(`update few set state = 'done' where id in (${keys.map((key) => `'${key}'`)})`))
  })
  await world.work(app, { handlers: [handler], concurrency: 8 })
  await add('few', 30)
  await job.enqueueMany(ids(30))
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 30)
  expect(most).toBe(2)
  expect(sizes).toEqual(Array.from({ length: 10 }, () => 3))
})
