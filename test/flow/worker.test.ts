// The upper arrow on PGlite in virtual time: which hints start something, and what becomes of the others.
import { describe, expect, test } from 'vitest'
import type { Hint } from '../../src/drivers/index.ts'
import type { App, Context, Duration } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(
  `create table things (id text primary key, state text not null default 'pending', runs int not null default 0)`,
)

const add = (...ids: string[]) =>
  world.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(ids)])
const done = (ctx: Context, id: string) =>
  ctx.tx((tx) => tx.query(`update things set state = 'done', runs = runs + 1 where id = $1`, [id]))

type Run = (id: string, ctx: Context) => unknown
const declare = (
  app: App,
  run: Run,
  options: { uniqueUntil?: 'start' | 'success'; sweep?: { every: Duration } } = {},
) => app.job('thing.make', { pending: sql`select id from things where state = 'pending'`, run, ...options })

/** A gate that a handler waits at; time passes meanwhile. */
function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

test('an enqueued key starts at once and leaves nothing in the ledger', async () => {
  const { app, ear } = world.app()
  const job = declare(app, (id, ctx) => done(ctx, id))
  await world.work(app)
  await add('a')
  expect(await job.enqueue('a')).toMatchObject({ key: 'a', status: 'added' })
  await world.until(() => ear.of('job.settled').length === 1)
  expect(ear.times('job.settled')).toEqual([0])
  expect(ear.of('job.settled')).toMatchObject([{ job: 'thing.make', key: 'a', state: 'done', error: null }])
  expect(await world.query(`select state, runs from things`)).toEqual([{ state: 'done', runs: 1 }])
  expect(await world.query(`select * from regrow.ledger`)).toEqual([])
})

test('a row that nobody enqueued starts with the next sweep', async () => {
  const { app, ear } = world.app()
  declare(app, (id, ctx) => done(ctx, id), { sweep: { every: '20s' } })
  await world.work(app)
  await add('a')
  await world.until(() => ear.of('job.settled').length === 1)
  expect(ear.times('job.settled')[0]).toBeGreaterThan(17_000)
  expect(ear.times('job.settled')[0]).toBeLessThan(23_000)
})

describe('live: a key that runs is enqueued again', () => {
  test.each([
    ['start', 2],
    ['success', 1],
  ] as const)('unique until its %s: it starts %i time(s)', async (uniqueUntil, starts) => {
    const { app, ear } = world.app()
    const { open, opened } = gate()
    const job = declare(app, () => opened, { uniqueUntil, sweep: { every: '1h' } })
    await world.work(app)
    await add('a')
    await job.enqueue('a')
    await world.until(() => ear.of('job.started').length === 1)
    await job.enqueue('a')
    await world.pass(3_500)
    const refused = ear.times('hint.refused', { why: 'running' })
    expect(refused).toEqual(starts === 2 ? [0, 1_000, 2_000, 3_000] : [0])
    open()
    await world.pass(10_000)
    expect(ear.of('job.started')).toHaveLength(starts)
  })

  test('a swept hint of it is dropped', async () => {
    const { app, queue, ear } = world.app()
    const { opened } = gate()
    const job = declare(app, () => opened, { sweep: { every: '1h' } })
    await world.work(app)
    await add('a')
    await job.enqueue('a')
    await world.until(() => ear.of('job.started').length === 1)
    await queue.push([{ job: 'thing.make', key: 'a', delayMs: 0, fresh: false }])
    await world.pass(5_000)
    expect(ear.times('hint.refused', { why: 'running' })).toEqual([0])
  })
})

test('later: a key in back-off starts when that is over, however often it is enqueued', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    retry: { delay: '20s' },
    run: (id, ctx) => {
      if (ctx.attempt === 1) throw new Error('not yet')
      return done(ctx, id)
    },
  })
  await world.work(app)
  await add('a')
  await job.enqueue('a')
  await world.until(() => ear.of('job.settled').length === 1)
  const [{ wait }] = (await world.query(
    `select extract(epoch from retry_at - regrow.clock()) * 1000 as wait from regrow.ledger`,
  )) as [{ wait: string }]
  expect(Number(wait)).toBeGreaterThanOrEqual(15_000)
  expect(Number(wait)).toBeLessThanOrEqual(25_000)
  await job.enqueue('a')
  await world.until(() => ear.of('job.settled').length === 2)
  expect(ear.of('hint.refused')).toEqual([{ job: 'thing.make', key: 'a', why: 'not_due' }])
  expect(ear.times('job.started')).toEqual([0, expect.closeTo(Number(wait), 0)])
})

test('quarantined: dropped and told, and nothing starts', async () => {
  const { app, queue, ear } = world.app()
  const job = declare(app, (_, ctx) => ctx.quarantine('a person must look'), { sweep: { every: '5s' } })
  await world.work(app)
  await add('a')
  await job.enqueue('a')
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1)
  await job.enqueue('a')
  await world.pass(15_000)
  expect(ear.of('hint.refused')).toEqual([{ job: 'thing.make', key: 'a', why: 'quarantined' }])
  expect(ear.of('job.started')).toHaveLength(1)
  expect(await queue.wipe()).toBe(0)
  await world.pass(15_000)
  expect(ear.of('job.started')).toHaveLength(1)
  expect(await world.query(`select state, error from regrow.ledger`)).toEqual([
    { state: 'quarantined', error: 'a person must look' },
  ])
})

test('paused: nothing whose check begins after the pause starts; the end of the pause brings it back', async () => {
  const { app, ear } = world.app()
  const job = declare(app, (id, ctx) => done(ctx, id), { sweep: { every: '5s' } })
  await world.work(app)
  await world.query(
    `insert into regrow.pauses values ('thing.make', 'provider down', 'ann', regrow.clock(), regrow.clock() + interval '30 seconds')`,
  )
  await add('a')
  await job.enqueue('a')
  await world.pass(29_900)
  expect(ear.of('job.started')).toEqual([])
  expect(ear.of('hint.refused')[0]).toEqual({ job: 'thing.make', key: 'a', why: 'paused' })
  expect(await world.query(`select * from regrow.ledger`)).toEqual([])
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
  expect(ear.times('job.started')[0]).toBeGreaterThanOrEqual(30_000)
})

describe('a hint whose row is not pending', () => {
  test('a fresh hint is looked at after 0.2, 1 and 5 s more, then forgotten', async () => {
    const { app, queue, ear } = world.app()
    const job = declare(app, () => {})
    await world.work(app)
    await job.enqueue('a')
    await world.pass(60_000)
    expect(ear.times('hint.refused', { why: 'not_pending' })).toEqual([0, 200, 1_200, 6_200])
    expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 0, delayed: 0 }]]))
    expect(await world.query(`select * from regrow.ledger`)).toEqual([])
  })

  test.each([100, 700, 4_000])('a row that commits %i ms after its enqueue starts without a sweep', async (ms) => {
    const { app, ear } = world.app()
    const job = declare(app, (id, ctx) => done(ctx, id), { sweep: { every: '1h' } })
    await world.work(app)
    await world.pass(10)
    await job.enqueue('a')
    await world.pass(ms)
    await add('a')
    await world.until(() => ear.of('job.settled').length === 1, 7_000)
  })

  test('a swept hint is dropped at once', async () => {
    const { app, queue, ear } = world.app()
    declare(app, () => {})
    await world.work(app)
    await queue.push([{ job: 'thing.make', key: 'a', delayMs: 0, fresh: false }])
    await world.pass(10_000)
    expect(ear.times('hint.refused')).toEqual([0])
  })
})

test('what somebody else put into the queue starts nothing', async () => {
  const { app, queue, ear } = world.app()
  const ran: unknown[] = []
  app.job('numbers', { key: 'int', pending: sql`select 7 as id from things`, run: (id) => ran.push(id) })
  await world.work(app)
  const hint = (key: string): Hint => ({ job: 'numbers', key, delayMs: 0, fresh: true })
  await queue.push(['007', 'x', '', '1; drop table things', '99999999999'].map(hint))
  await world.until(() => ear.of('hint.dropped').length > 0)
  expect(ear.of('hint.dropped')).toEqual([{ count: 5, why: 'foreign', error: null }])
  await world.pass(5_000)
  expect(ran).toEqual([])
})

test('hints of a job whose handler this worker has not stay in the queue', async () => {
  const { app, queue, ear } = world.app()
  declare(app, (id, ctx) => done(ctx, id))
  const other = app.job('other', { pending: sql`select id from things` })
  await world.work(app)
  await add('a')
  await other.enqueue('a')
  await world.until(() => ear.of('job.settled', { job: 'thing.make' }).length === 1)
  await world.pass(10_000)
  expect(await queue.count(['other'])).toEqual(new Map([['other', { due: 1, delayed: 0 }]]))
})

test('no more handlers run, and no more keys are taken, than there are slots', async () => {
  const { app, ear } = world.app()
  let running = 0
  let most = 0
  const job = declare(app, async (id, ctx) => {
    most = Math.max(most, ++running)
    await world.clock.sleep(100)
    running--
    await done(ctx, id)
  })
  await world.work(app, { concurrency: 3 })
  const ids = Array.from({ length: 20 }, (_, i) => `k${i}`)
  await add(...ids)
  await job.enqueueMany(ids)
  let claimed = 0
  await world.until(async () => {
    const [row] = await world.query<{ n: number }>(
      `select count(*)::int as n from regrow.ledger where holder is not null`,
    )
    claimed = Math.max(claimed, row?.n ?? 0)
    return ear.of('job.settled', { state: 'done' }).length === 20
  })
  expect([most, claimed]).toEqual([3, 3])
  expect(ear.of('job.started')).toHaveLength(20)
})

describe('stop', () => {
  test('what runs may end within the grace, and nothing new starts', async () => {
    const { app, ear } = world.app()
    const { open, opened } = gate()
    const job = declare(app, async (id, ctx) => {
      await opened
      await done(ctx, id)
    })
    const worker = await world.work(app)
    await add('a', 'b')
    await job.enqueue('a')
    await world.until(() => ear.of('job.started').length === 1)
    const stopped = worker.stop({ grace: '5m' })
    await world.pass(100)
    await job.enqueue('b')
    await world.pass(45_000)
    open()
    await world.over(stopped)
    expect(ear.of('job.settled')).toMatchObject([{ key: 'a', state: 'done' }])
    expect(ear.of('job.started')).toHaveLength(1)
    expect(await world.query(`select * from regrow.workers`)).toEqual([])
  })

  test('what does not end is aborted and given back: nothing is counted, and another worker starts it at once', async () => {
    const queue = world.queue()
    const first = world.app({}, queue)
    let aborted: unknown
    const job = declare(first.app, (_, ctx) => {
      ctx.signal.addEventListener('abort', () => {
        aborted = ctx.signal.reason
      })
      return new Promise(() => {})
    })
    const worker = await world.work(first.app)
    await add('a')
    await job.enqueue('a')
    await world.until(() => first.ear.of('job.started').length === 1)
    const second = world.app({}, queue)
    declare(second.app, (id, ctx) => done(ctx, id))
    await world.work(second.app)
    await world.over(worker.stop({ grace: '1s' }))
    expect(aborted).toMatchObject({ code: 'stopping' })
    await world.until(() => second.ear.of('job.settled').length === 1, 1_000)
    expect(second.ear.of('job.started')).toEqual([{ job: 'thing.make', key: 'a', attempt: 1 }])
    expect(await world.query(`select * from regrow.ledger`)).toEqual([])
  })
})
