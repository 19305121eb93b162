// A batch that throws is retried in halves, down to single keys: one bad key takes nobody with it.
import { expect, test } from 'vitest'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table things (id int primary key, state text not null default 'pending')`)

const pending = sql`select id from things where state = 'pending'`
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const add = (from: number, to: number) =>
  world.query(`insert into things (id) select generate_series($1::int, $2::int)`, [from, to])
const mark = (ids: readonly number[]) =>
  world.query(`update things set state = 'done' where id = any ($1::int[])`, [`{${ids.join(',')}}`])

/** Works on `count` things, of which number 3 makes every call throw that it is in; the calls in their order. */
async function poisoned(count: number, attempts: number, concurrency = 10) {
  const { app, ear } = world.app()
  const job = app.job('thing.many', {
    key: 'int',
    pending,
    retry: { attempts, delay: '10s', backoff: 'fixed' },
    sweep: { every: '1h' },
    batch: 100,
  })
  const calls: number[][] = []
  const handler = job.handle(async (ids) => {
    calls.push([...ids].sort((a, b) => a - b))
    if (ids.includes(3)) throw new Error('3 is bad')
    await mark(ids)
  })
  await world.work(app, { handlers: [handler], concurrency })
  await add(1, count)
  await job.enqueueMany(range(1, count))
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1, 3_600_000)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === count - 1, 3_600_000)
  const withThree = calls.filter((call) => call.includes(3)).map((call) => call.length)
  return { calls, withThree, job, handler, ear }
}

const memory = () => world.query(`select key, state, failures from regrow.ledger order by key`)

test('the bad key is cornered in halves, alone at last, and the only one in quarantine', async () => {
  const { calls, withThree } = await poisoned(16, 6)
  expect(withThree).toEqual([16, 8, 4, 2, 1, 1])
  expect(await memory()).toEqual([{ key: '3', state: 'quarantined', failures: 6 }])
  // Nobody ran more often than it takes to find the bad one.
  for (const id of range(1, 16).filter((each) => each !== 3))
    expect(calls.filter((call) => call.includes(id)).length).toBeLessThanOrEqual(5)
})

test('its last attempt a key has to itself: few attempts take no neighbour to quarantine', async () => {
  const { withThree } = await poisoned(16, 3)
  expect(withThree).toEqual([16, 8, 1])
  expect(await memory()).toEqual([{ key: '3', state: 'quarantined', failures: 3 }])
})

test('halves share the slots there are: what finds none is given back and comes again, nothing counted', async () => {
  const { calls, withThree } = await poisoned(8, 2, 1)
  expect(withThree).toEqual([8, 1])
  expect(calls.slice(1).every((call) => call.length === 1)).toBe(true)
  expect(await memory()).toEqual([{ key: '3', state: 'quarantined', failures: 2 }])
})

test('a call that is given up after its timeout is halved like one that throws', async () => {
  const { app, ear } = world.app()
  const retry = { attempts: 3, delay: '1s', backoff: 'fixed' } as const
  const job = app.job('thing.many', { key: 'int', pending, retry, timeout: '5s', sweep: { every: '1h' }, batch: 100 })
  const calls: number[][] = []
  const handler = job.handle(async (ids) => {
    calls.push([...ids].sort((a, b) => a - b))
    if (ids.includes(3)) await new Promise(() => {})
    await mark(ids)
  })
  await world.work(app, { handlers: [handler] })
  await add(1, 8)
  await job.enqueueMany(range(1, 8))
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1, 3_600_000)
  expect(calls.filter((call) => call.includes(3)).map((call) => call.length)).toEqual([8, 4, 1])
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 7, 3_600_000)
  expect(await memory()).toEqual([{ key: '3', state: 'quarantined', failures: 3 }])
})

test('a key that ctx.fail marked has its last attempt to itself, too: what its neighbour throws does not quarantine it', async () => {
  const { app, ear } = world.app()
  const retry = { attempts: 2, delay: '10s', backoff: 'fixed' } as const
  const job = app.job('thing.many', { key: 'int', pending, retry, sweep: { every: '1h' }, batch: 100 })
  const calls: number[][] = []
  const handler = job.handle(async (ids, ctx) => {
    calls.push([...ids].sort((a, b) => a - b))
    if (ids.includes(3)) throw new Error('3 is bad')
    if (calls.length === 1) return ctx.fail(1, new Error('not today'))
    await mark(ids)
  })
  await world.work(app, { handlers: [handler] })
  await add(1, 1)
  await job.enqueue(1)
  await world.until(() => ear.of('job.settled', { state: 'retrying' }).length === 1)
  await add(2, 3)
  // All come due at the same moment.
  await world.query(`update regrow.ledger set retry_at = regrow.clock()`)
  await job.enqueueMany([1, 2, 3])
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 2, 3_600_000)
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1, 3_600_000)
  expect(calls.slice(0, 3)).toEqual(expect.arrayContaining([[1], [1], [2, 3]]))
  expect(await memory()).toEqual([{ key: '3', state: 'quarantined', failures: 2 }])
})

test('keys that never failed are not put beside those that did', async () => {
  const { app, ear } = world.app()
  const retry = { delay: '10s', backoff: 'fixed' } as const
  const job = app.job('thing.many', { key: 'int', pending, retry, sweep: { every: '1h' }, batch: 100 })
  const calls: number[][] = []
  const handler = job.handle(async (ids) => {
    calls.push([...ids].sort((a, b) => a - b))
    if (calls.length === 1) throw new Error('the first call fails')
    await mark(ids)
  })
  await world.work(app, { handlers: [handler] })
  await add(1, 4)
  await job.enqueueMany(range(1, 4))
  await world.until(() => ear.of('job.settled', { state: 'retrying' }).length === 4)
  await add(5, 8)
  // Both come due at the same moment.
  await world.query(`update regrow.ledger set retry_at = regrow.clock()`)
  await job.enqueueMany(range(1, 8))
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 8)
  for (const call of calls) expect(call.every((id) => id <= 4) || call.every((id) => id > 4)).toBe(true)
})

test('when one key of a batch is lost, ctx.tx rolls back and the rest runs again; nothing is counted', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.many', { key: 'int', pending, sweep: { every: '1h' }, batch: 100 })
  const calls: number[][] = []
  const handler = job.handle(async (ids, ctx) => {
    calls.push([...ids].sort((a, b) => a - b))
    // Somebody else has taken 2 meanwhile, as after a lease that ran out.
    if (calls.length === 1)
      await world.query(`update regrow.ledger set holder = 'another', take = 1 where key = '2' and holder is not null`)
    await ctx.tx((tx) =>
      tx.query(`update things set state = 'done' where id = any ($1::text::int[])`, [`{${ids.join(',')}}`]),
    )
  })
  await world.query(`insert into regrow.workers (id, host, pid, jobs, started_at, beat_at)
    values ('another', 'host', 1, '{}', regrow.clock(), 'infinity')`)
  await world.work(app, { handlers: [handler] })
  await add(1, 4)
  await job.enqueueMany(range(1, 4))
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 3)
  expect(calls).toEqual([
    [1, 2, 3, 4],
    [1, 3, 4],
  ])
  expect(ear.of('job.lease_lost').map(({ key }) => key)).toEqual(['2'])
  expect(ear.of('job.settled').filter(({ error }) => error !== null)).toEqual([])
  expect(await memory()).toEqual([{ key: '2', state: 'running', failures: 0 }])
  expect(await world.query(`select id from things where state = 'pending'`)).toEqual([{ id: 2 }])
})
