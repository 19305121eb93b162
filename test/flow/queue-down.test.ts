// A queue that is down, and queues that are not shared: every working process goes on from the rows, and nothing is doubled.
import { describe, expect, test } from 'vitest'
import type { App } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import type { MemoryQueue } from '../../src/queue/memory.ts'
import { type Ear, openWorld } from './world.ts'

const world = openWorld(`create table things (id text collate "C" primary key, state text not null default 'pending');
     create table effects (id text not null, by text not null)`)

const pending = sql`select id from things where state = 'pending'`
const fill = (count: number, prefix = 'k') =>
  world.query(`insert into things (id) select $1 || lpad(n::text, 7, '0') from generate_series(1, $2::int) n`, [
    prefix,
    count,
  ])
const left = async () =>
  Number((await world.query(`select count(*)::int as n from things where state = 'pending'`))[0]?.n)
const effects = async () =>
  (
    await world.query<{ by: string; n: number; keys: number }>(
      `select by, count(*)::int as n, count(distinct id)::int as keys from effects group by by order by by`,
    )
  ).map(({ by, n, keys }) => ({ by, n, keys }))

/** A job that notes who ran each key; a run takes `ms`. */
const noting = (app: App, by: string, ms = 100) =>
  app.job('thing.make', {
    pending,
    async run(id, ctx) {
      await world.clock.sleep(ms)
      await ctx.tx(async (tx) => {
        await tx.query(`insert into effects values ($1, $2)`, [id, by])
        await tx.query(`update things set state = 'done' where id = $1`, [id])
      })
    },
  })

/** A queue between which and its processes the line can be cut. */
function cuttable(queue: MemoryQueue) {
  const line = { cut: null as null | 'refused' | 'silent' }
  const proxy = new Proxy(queue, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        if (line.cut === 'refused') throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
        if (line.cut === 'silent') return new Promise(() => {})
        const answer = await value.apply(target, args)
        // What was under way when the line was cut gets no answer.
        if (line.cut === 'refused') throw new Error('Connection terminated unexpectedly')
        return answer
      }
    },
  })
  return { line, proxy }
}

const told = <Name extends 'queue.down' | 'queue.up' | 'queue.lost'>(event: Name, ...ears: Ear[]) =>
  ears.flatMap((ear) => ear.of(event))

describe.each([
  ['refused', 300_000],
  ['silent', 60_000],
] as const)('a queue that is %s for %i ms', (cut, downMs) => {
  test('every process works on from the rows; afterwards the queue serves them as before, and nothing ran twice', async () => {
    const real = world.queue()
    const { line, proxy } = cuttable(real)
    const [a, b] = [world.app({}, proxy), world.app({}, proxy)]
    const makeA = noting(a.app, 'a', 300)
    noting(b.app, 'b', 300)
    await world.work(a.app, { concurrency: 5 })
    await world.work(b.app, { concurrency: 5 })
    await fill(80)
    await makeA.enqueueMany(['k0000001', 'k0000002', 'k0000003'])

    line.cut = cut
    await world.until(() => told('queue.down', a.ear, b.ear).length === 2, 15_000)
    await world.until(async () => (await left()) === 0, 30_000)
    const early = await effects()
    expect(early.map(({ by }) => by)).toEqual(['a', 'b'])
    for (const { by, n } of early) expect(n, `work of ${by}`).toBeGreaterThan(8)

    // New rows are found though nobody can hint them; what this process enqueues it runs at once.
    await fill(3, 'late')
    await world.until(async () => (await left()) === 0, 7_000)
    await fill(1, 'own')
    const at = world.clock.now()
    expect(await makeA.enqueue('own0000001')).toMatchObject({ status: 'added' })
    await world.until(async () => (await left()) === 0, 1_000)
    expect(world.clock.now() - at).toBeLessThan(1_000)

    await world.pass(downMs - world.clock.now())
    await fill(150, 'more')
    line.cut = null
    await world.until(() => told('queue.up', a.ear, b.ear).length === 2, 5_000)
    // The fleet's sweep fills the real queue again.
    await world.until(async () => ((await real.count(['thing.make'])).get('thing.make')?.due ?? 0) > 40, 3_000)
    await world.until(async () => (await left()) === 0, 60_000)

    const all = await effects()
    expect(all.reduce((sum, { n }) => sum + n, 0)).toBe(234)
    expect(all.reduce((sum, { keys }) => sum + keys, 0)).toBe(234)
    expect([...a.ear.of('job.lease_lost'), ...b.ear.of('worker.gone')]).toEqual([])
    // M38: an outage is no loss; its mark is where it was.
    expect(told('queue.lost', a.ear, b.ear)).toEqual([])
    expect(
      told('queue.up', a.ear, b.ear).every(({ queue, ...each }) => queue === 'memory' && each.downMs > downMs * 0.7),
    ).toBe(true)
  })
})

test('a queue that comes back empty is one that was lost: both are told, and what waited is hinted', async () => {
  const real = world.queue()
  const { line, proxy } = cuttable(real)
  const { app, ear } = world.app({}, proxy)
  noting(app, 'a', 60_000)
  await fill(300)
  await world.work(app, { concurrency: 5 })
  line.cut = 'refused'
  await world.until(() => ear.of('queue.down').length === 1, 10_000)
  await world.pass(1_000)
  await real.wipe()
  line.cut = null
  await world.until(() => ear.of('queue.up').length === 1 && ear.of('queue.lost').length === 1, 5_000)
  // What its memory held is of no use any more, and would be stale in the next outage.
  expect(ear.of('queue.up')[0]?.discarded).toBeGreaterThanOrEqual(20)
  await world.until(async () => ((await real.count(['thing.make'])).get('thing.make')?.due ?? 0) > 250, 5_000)
})

test('one call that fails is no outage: its hints are dropped and told, and the queue stays', async () => {
  const real = world.queue()
  const { app, ear } = world.app({}, real)
  const make = noting(app, 'a')
  await world.work(app)
  await fill(1)
  const push = real.push
  real.push = async () => {
    real.push = push
    throw new Error('Connection terminated unexpectedly')
  }
  expect(await make.enqueue('k0000001')).toMatchObject({ status: 'dropped' })
  expect(ear.of('hint.dropped')).toMatchObject([{ count: 1, why: 'queue' }])
  expect(ear.of('queue.down')).toEqual([])
  await make.enqueue('k0000001')
  await world.until(async () => (await left()) === 0, 1_000)
})

test('a queue that says it is back and fails again is asked less and less often', async () => {
  const real = world.queue()
  const { app, ear } = world.app({}, real)
  noting(app, 'a')
  await world.work(app)
  real.pop = async () => {
    throw new Error('permission denied')
  }
  await world.pass(120_000)
  const times = ear.times('queue.down')
  expect(times.length).toBeGreaterThan(3)
  expect(times.length).toBeLessThan(10)
})

test('who only enqueues drops hints while the queue is down: nobody would pop them from its memory', async () => {
  const { line, proxy } = cuttable(world.queue())
  const { app, ear } = world.app({}, proxy)
  const make = noting(app, 'a')
  line.cut = 'refused'
  expect(await world.over(make.enqueue('x'))).toMatchObject({ status: 'dropped' })
  expect(ear.of('hint.dropped')).toMatchObject([{ count: 1, why: 'queue' }])
  expect(ear.of('queue.down')).toEqual([])
})

describe('queues that are not shared', () => {
  test('each process finds work for itself, whoever enqueued it, and no key runs twice', async () => {
    const apps = ['a', 'b', 'c'].map((by) => {
      const opened = world.app({}, world.queue({}, { shared: false }))
      noting(opened.app, by)
      return opened
    })
    for (const { app } of apps) await world.work(app, { concurrency: 5 })
    await fill(180)
    await world.until(async () => (await left()) === 0, 40_000)
    const all = await effects()
    expect(all.map(({ by }) => by)).toEqual(['a', 'b', 'c'])
    for (const { by, n } of all) expect(n, `work of ${by}`).toBeGreaterThan(30)
    expect(all.reduce((sum, { n }) => sum + n, 0)).toBe(180)
  })

  test('a row that nobody enqueued is found within five seconds, in front of and behind any other', async () => {
    const { app, ear } = world.app({}, world.queue({}, { shared: false }))
    noting(app, 'a')
    await world.work(app)
    for (const prefix of ['m', 'z', 'a']) {
      await fill(1, prefix)
      const at = world.clock.now()
      await world.until(async () => (await left()) === 0, 6_000)
      expect(world.clock.now() - at).toBeLessThanOrEqual(5_300)
    }
    expect(ear.of('job.settled', { state: 'done' })).toHaveLength(3)
  })

  test('L6: one row that may start behind five thousand that may not is reached', async () => {
    const { app, ear } = world.app({}, world.queue({}, { shared: false }))
    noting(app, 'a')
    await world.work(app)
    await fill(5_000)
    await world.query(
      `insert into regrow.ledger (job, key, state, failures) select 'thing.make', id, 'quarantined', 20 from things`,
    )
    await fill(1, 'z')
    await world.until(() => ear.of('job.settled', { key: 'z0000001' }).length === 1, 7_000)
  })
})
