// The lower arrow on PGlite in virtual time: what nobody enqueued, or the queue lost, is found.
import { expect, test } from 'vitest'
import type { App, Duration } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(
  `create table things (id text collate "C" primary key, state text not null default 'pending', run_at timestamptz, version text)`,
)

const pending = sql`select id from things where state = 'pending'`
const finish = `update things set state = 'done' where id = any (select jsonb_array_elements_text($1::text::jsonb))`
const fill = (count: number, prefix = 'k') =>
  world.query(`insert into things (id) select $1 || lpad(n::text, 7, '0') from generate_series(1, $2::int) n`, [
    prefix,
    count,
  ])

/** A job whose handler marks its rows done, many at a time. */
function marking(
  app: App,
  name: string,
  every: Duration,
  options: { pending?: typeof pending; jitter?: Duration } = {},
) {
  const { jitter = 0 } = options
  const job = app.job(name, { pending: options.pending ?? pending, sweep: { every, jitter }, batch: 1_000 })
  return job.handle((ids, ctx) => ctx.tx((tx) => tx.query(finish, [JSON.stringify(ids)])))
}

test('a row behind more than a page of quarantined ones is reached in one pass', async () => {
  const { app, ear } = world.app()
  await fill(10_500)
  await world.query(
    `insert into regrow.ledger (job, key, state, failures) select 'thing.make', id, 'quarantined', 20 from things`,
  )
  await fill(1, 'z')
  await world.work(app, { handlers: [marking(app, 'thing.make', '1h')] })
  await world.until(() => ear.of('job.settled').length === 1, 1_000)
  expect(ear.of('sweep.passed')).toMatchObject([{ seen: 10_501, pushed: 1, held: 10_500, finished: true }])
  expect(ear.of('job.settled')).toMatchObject([{ key: 'z0000001', state: 'done' }])
})

test('a pass that filled the queue goes on at its stored cursor as the queue drains', async () => {
  const { app, ear } = world.app({}, world.queue({ maxHints: 1_500 }))
  await fill(4_000)
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const job = app.job('thing.make', { pending, sweep: { every: '1h' }, batch: 1_000 })
  const handler = job.handle(async (ids, ctx) => {
    await held
    await ctx.tx((tx) => tx.query(finish, [JSON.stringify(ids)]))
  })
  await world.work(app, { concurrency: 1, handlers: [handler] })
  // A thousand fit, and five hundred; as many more as the worker has popped of the first ones by then: none, one, or a batch.
  const [row] = await world.query<{ cursor: string }>(`select cursor from regrow.sweeps`)
  const [first] = ear.of('sweep.passed')
  expect(first).toMatchObject({ seen: 4_000, finished: false })
  expect([
    ['k0001000', 1_500],
    ['k0001000', 1_501],
    ['k0002000', 2_500],
  ]).toContainEqual([row?.cursor, first?.pushed])
  await world.until(() => ear.of('sweep.passed').length === 2, 3_000)
  const [, second] = ear.of('sweep.passed')
  // Nothing is done yet: begun anew, the second pass would see all 4,000 rows again.
  expect(second?.finished).toBe(false)
  expect(second?.seen).toBeLessThanOrEqual(4_000 - Number(row?.cursor.slice(1)))
  letGo()
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 4_000, 20_000)
  await world.until(() => ear.of('sweep.passed', { finished: true }).length === 1, 3_000)
  expect(await world.query(`select cursor from regrow.sweeps`)).toEqual([{ cursor: null }])
})

test('keys that are backed off beyond the next sweep are not hinted, and those before it are hinted for their time', async () => {
  const { app, queue, ear } = world.app()
  const job = app.job('thing.make', { pending, sweep: { every: '10s' }, run() {} })
  await fill(2)
  await world.query(
    `insert into regrow.ledger (job, key, state, failures, retry_at, updated_at) values
       ('thing.make', 'k0000001', 'retrying', 1, regrow.clock() + interval '1 hour', regrow.clock()),
       ('thing.make', 'k0000002', 'retrying', 1, regrow.clock() + interval '8 seconds', regrow.clock())`,
  )
  await world.work(app)
  expect(ear.of('sweep.passed')).toMatchObject([{ job: job.name, seen: 2, pushed: 1, held: 1 }])
  expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 0, delayed: 1 }]]))
  await world.until(() => ear.of('job.started').length === 1)
  expect(ear.of('job.started')).toMatchObject([{ key: 'k0000002', attempt: 2 }])
  expect(ear.times('job.started')).toEqual([7_900])
  expect(ear.of('hint.refused')).toEqual([])
})

test('rows whose run_at falls before the next sweep are hinted ahead and start on time, others wait in the table', async () => {
  const { app, queue, ear } = world.app()
  const at = (seconds: number) =>
    world.query(`insert into things (id, run_at) values ($1, regrow.clock() + make_interval(secs => $2))`, [
      `at${seconds}`,
      seconds,
    ])
  for (const seconds of [5, 12.345, 40]) await at(seconds)
  const started = () => ear.times('job.started')
  const withTime = sql`select id, run_at from things where state = 'pending'`
  await world.work(app, { handlers: [marking(app, 'thing.make', '20s', { pending: withTime })] })
  expect(ear.of('sweep.passed')).toMatchObject([{ seen: 3, pushed: 2, held: 1 }])
  expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 0, delayed: 2 }]]))
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 3)
  expect(started()).toEqual([4_900, 12_245, 39_900])
})

test('a key that is enqueued before its run_at starts on time', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.make', {
    pending: sql`select id, run_at from things where state = 'pending'`,
    sweep: { every: '1h' },
    run: (id, ctx) => ctx.tx((tx) => tx.query(finish, [JSON.stringify([id])])),
  })
  await world.work(app)
  await world.query(`insert into things (id, run_at) values ('a', regrow.clock() + interval '7 seconds')`)
  await job.enqueue('a')
  await world.until(() => ear.of('job.settled').length === 1)
  expect(ear.of('hint.refused')).toEqual([{ job: 'thing.make', key: 'a', why: 'not_due' }])
  expect(ear.times('job.started')).toEqual([7_000])
})

test('the broken query of one job stops no other job, and its error is in its row', async () => {
  const { app, ear } = world.app()
  const good = marking(app, 'good', '5s')
  const bad = marking(app, 'bad', '5s', { pending: sql`select id from no_such_table` })
  const thrown = app
    .job('thrown', {
      pending: () => {
        throw new Error('the function that builds it is broken')
      },
      sweep: { every: '5s' },
    })
    .handle(() => {})
  await world.work(app, { handlers: [bad, thrown, good] })
  for (let round = 1; round <= 3; round++) {
    await fill(2, `r${round}-`)
    await world.until(() => ear.of('job.settled', { job: 'good' }).length === 2 * round, 8_000)
  }
  expect(ear.of('sweep.failed', { job: 'bad' }).length).toBeGreaterThanOrEqual(2)
  expect(ear.of('sweep.failed', { job: 'thrown' }).length).toBeGreaterThanOrEqual(2)
  expect(
    await world.query(`select job, last_error from regrow.sweeps where last_error is not null order by job`),
  ).toEqual([
    { job: 'bad', last_error: expect.stringContaining('"no_such_table" does not exist') },
    { job: 'thrown', last_error: 'the function that builds it is broken' },
  ])
})

test('sweeps go on while every slot is busy', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.make', { pending, sweep: { every: '5s' }, run: () => new Promise(() => {}) })
  await world.work(app, { concurrency: 1 })
  await fill(1)
  await job.enqueue('k0000001')
  await world.until(() => ear.of('job.started').length === 1)
  const before = ear.of('sweep.passed').length
  await world.pass(30_000)
  expect(ear.of('sweep.passed').length - before).toBeGreaterThanOrEqual(4)
})

test('what a sweep finds is spread over its jitter', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.make', {
    pending,
    sweep: { every: '1h', jitter: '20s' },
    run: (id, ctx) => ctx.tx((tx) => tx.query(finish, [JSON.stringify([id])])),
  })
  await fill(40)
  await world.work(app)
  await world.until(() => ear.of('job.settled', { job: job.name }).length === 40)
  const starts = ear.times('job.started')
  expect(Math.min(...starts)).toBeLessThan(5_000)
  expect(Math.max(...starts)).toBeGreaterThan(15_000)
  expect(Math.max(...starts)).toBeLessThanOrEqual(20_000)
})

test('a wiped queue grows back with the next sweep', async () => {
  const { app, queue, ear } = world.app()
  const handler = marking(app, 'thing.make', '10s', { jitter: '2s' })
  await fill(500)
  await world.work(app, { handlers: [handler] })
  expect(await queue.wipe()).toBeGreaterThan(400)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 500)
  expect(await world.query(`select count(*)::int as n from things where state = 'pending'`)).toEqual([{ n: 0 }])
})

test('a row that is committed under a lower key than the cursor is found by the next pass', async () => {
  const { app, ear } = world.app()
  const handler = marking(app, 'thing.make', '5s')
  await fill(3, 'm')
  await world.work(app, { handlers: [handler] })
  await world.until(() => ear.of('job.settled').length === 3)
  await fill(1, 'a')
  await world.until(() => ear.of('job.settled', { key: 'a0000001' }).length === 1, 7_000)
})
