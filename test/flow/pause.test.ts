// The kill switch on PGlite in virtual time: nothing starts whose check begins after the pause committed, nothing is lost,
// and everything comes back when it is over.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { type App, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import type { MemoryQueue } from '../../src/queue/memory.ts'
import type { Source } from '../../src/store/source.ts'
import { allowedBy } from '../../src/sweep/ramp.ts'
import { type Ear, openWorld } from './world.ts'

const world = openWorld(`create table things (id text collate "C" primary key, state text not null default 'pending');
     create table others (id text collate "C" primary key, state text not null default 'pending')`)

const fill = (count: number, table = 'things') =>
  world.query(
    `insert into ${table} (id) select 'k' || lpad(n::text, 7, '0') from generate_series(1, $1::int) n
     on conflict do nothing`,
    [count],
  )
const finish = (table: string) =>
  `update ${table} set state = 'done' where id = any (select jsonb_array_elements_text($1::text::jsonb))`
const left = async (table = 'things') =>
  (await world.query<{ n: number }>(`select count(*)::int as n from ${table} where state = 'pending'`))[0]?.n

/** A job over a table, whose handler marks its rows done. */
function marking(app: App, name = 'thing.make', table = 'things') {
  const pending = { text: `select id from ${table} where state = 'pending'`, values: [] }
  const job = app.job(name, { pending, sweep: { every: '20s' }, batch: 1_000 })
  const handler = job.handle((ids, ctx) => ctx.tx((tx) => tx.query(finish(table), [JSON.stringify(ids)])))
  return { job, handler }
}

type Moment = 'before the take' | 'after the take' | 'after the check' | 'after the page'

/** The world's store; at one moment of its first use something happens, once. */
function interrupted(moment: Moment, happens: () => Promise<unknown>): StoreDriver {
  const driver = world.store()
  let over = false
  const at = async (now: Moment) => {
    if (over || now !== moment) return
    over = true
    await happens()
  }
  const watched = (source: Source): Source =>
    new Proxy(source, {
      get: (target, name) => {
        if (name === 'check')
          return async (keys: readonly string[]) => {
            const answer = await target.check(keys)
            await at('after the check')
            return answer
          }
        if (name === 'page')
          return async (...args: Parameters<Source['page']>) => {
            const answer = await target.page(...args)
            await at('after the page')
            return answer
          }
        return Reflect.get(target, name)
      },
    })
  return {
    ...driver,
    open: async (around) => {
      const { store, defaultQueue } = await driver.open(around)
      const take: typeof store.ledger.take = async (...args) => {
        await at('before the take')
        const answer = await store.ledger.take(...args)
        await at('after the take')
        return answer
      }
      const ledger = { ...store.ledger, take }
      return { store: { ...store, ledger, source: (job) => watched(store.source(job)) }, defaultQueue }
    },
  }
}

/** What a queue is given by sweeps: when, and how many that were new. */
function pushesOf(queue: MemoryQueue): { at: number; keys: string[] }[] {
  const seen: { at: number; keys: string[] }[] = []
  const push = queue.push.bind(queue)
  queue.push = async (hints, options) => {
    const swept = hints.filter(({ fresh }) => !fresh).map(({ key }) => key)
    if (swept.length > 0) seen.push({ at: world.clock.now(), keys: swept })
    return push(hints, options)
  }
  return seen
}

const audit = () => world.query(`select author, action, job from regrow.audit order by id`)
const claims = () => world.query(`select job, key from regrow.ledger where holder is not null`)

describe('no check that begins after the pause committed starts a key (S8):', () => {
  test.each(['before the take', 'after the take'] as const)(
    'a hint that was popped, when the pause commits %s (M26)',
    async (moment) => {
      let pause = async () => {}
      const { app, ear } = world.app({ store: interrupted(moment, () => pause()) })
      const { job, handler } = marking(app)
      pause = async () => void (await app.pause('thing.make', { reason: 'the provider is down' }))
      await world.work(app, { handlers: [handler] })
      await fill(3)
      expect(await job.enqueueMany(['k0000001', 'k0000002', 'k0000003'])).toMatchObject({ added: 3 })
      await world.pass(25_000)
      expect(ear.of('job.started')).toEqual([])
      expect(ear.of('hint.refused', { why: 'paused' })).toHaveLength(3)
      expect(await claims()).toEqual([])
      expect(await app.resume('thing.make')).toBe(true)
      await world.until(() => ear.of('job.settled', { state: 'done' }).length === 3, 5_000)
      expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 1, 1])
    },
  )

  test.each(['before the take', 'after the take'] as const)(
    'the hint of an intent that was popped, when the pause commits %s',
    async (moment) => {
      let pause = async () => {}
      const { app, ear } = world.app({ store: interrupted(moment, () => pause()) })
      const sent: string[] = []
      const mail = app.job('mail.send', { input: z.object({ to: z.string() }), run: ({ to }) => void sent.push(to) })
      pause = async () => void (await app.pause('mail.send', { reason: 'the provider is down' }))
      await world.work(app)
      expect(await mail.enqueue({ to: 'ann' })).toMatchObject({ status: 'added' })
      await world.pass(25_000)
      expect({ sent, started: ear.of('job.started') }).toEqual({ sent: [], started: [] })
      await app.resume('mail.send')
      await world.until(() => ear.of('job.settled').length === 1, 5_000)
      expect(sent).toEqual(['ann'])
      expect(await world.query('select 1 from regrow.intents')).toEqual([])
    },
  )

  test('a source of the user’s own, and keys that are enqueued again and again', async () => {
    const { app, ear } = world.app()
    const left = new Set(['a', 'b'])
    const job = app.job('own.source', {
      pending: {
        page: async () => [...left].map((key) => ({ key })),
        isPending: async (keys) => keys.filter((key) => left.has(key)).map((key) => ({ key })),
      },
      run: (key) => void left.delete(key),
    })
    await app.pause('own.source', { reason: 'not now' })
    await world.work(app)
    for (let i = 0; i < 20; i++) {
      await job.enqueueMany(['a', 'b'])
      await world.pass(1_000)
    }
    expect(ear.of('hint.refused', { why: 'paused' })).toHaveLength(40)
    expect([...left]).toEqual(['a', 'b'])
    await app.resume('own.source')
    await world.until(() => left.size === 0, 5_000)
  })

  test('a handler whose check came before goes on to its end, and its outcome is recorded', async () => {
    let pause = async () => {}
    const { app, ear } = world.app({ store: interrupted('after the check', () => pause()) })
    const job = app.job('thing.make', {
      pending: sql`select id from things where state = 'pending'`,
      sweep: { every: '20s' },
      async run(id, ctx) {
        await world.clock.sleep(30_000)
        expect(ctx.signal.aborted).toBe(false)
        await ctx.tx((tx) => tx.query(finish('things'), [JSON.stringify([id])]))
      },
    })
    pause = async () => void (await app.pause('thing.make', { reason: 'not now' }))
    await world.work(app)
    await fill(1)
    await job.enqueue('k0000001')
    await world.until(() => ear.of('job.settled').length === 1)
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    expect(await operate(app).pauses()).toMatchObject([{ job: 'thing.make', reason: 'not now' }])
    expect(await left()).toBe(0)
  })

  test('what fails while its job is paused waits with its failures counted, and starts again after the resume', async () => {
    const { app, ear } = world.app()
    const job = app.job('thing.make', {
      pending: sql`select id from things where state = 'pending'`,
      sweep: { every: '20s' },
      retry: { delay: '1s' },
      async run(id, ctx) {
        if (ctx.attempt === 1) {
          await app.pause('thing.make', { reason: 'it fails' })
          throw new Error('as was to be expected')
        }
        await ctx.tx((tx) => tx.query(finish('things'), [JSON.stringify([id])]))
      },
    })
    await world.work(app)
    await fill(1)
    await job.enqueue('k0000001')
    await world.pass(25_000)
    expect(ear.of('job.started')).toHaveLength(1)
    expect(ear.of('job.settled')).toMatchObject([{ state: 'retrying' }])
    await app.resume('thing.make')
    await world.until(() => ear.of('job.settled').length === 2, 5_000)
    expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 2])
  })

  test('other jobs start as ever', async () => {
    const { app, ear } = world.app()
    const [thing, other] = [marking(app), marking(app, 'other.make', 'others')]
    await app.pause('thing.make', { reason: 'not now' })
    await world.work(app, { handlers: [thing.handler, other.handler] })
    await fill(50)
    await fill(50, 'others')
    await other.job.enqueueMany(['k0000001', 'k0000002'])
    await world.until(async () => (await left('others')) === 0, 25_000)
    expect(await left()).toBe(50)
    expect(ear.of('hint.refused', { job: 'other.make' })).toEqual([])
    expect(ear.of('job.started', { job: 'thing.make' })).toEqual([])
  })
})

describe('while a job is paused', () => {
  test('its intents are stored, counted as held and not hinted; after the resume each runs once (M39)', async () => {
    const { app, ear, queue } = world.app()
    const sent: string[] = []
    const mail = app.job('mail.send', { input: z.object({ to: z.string() }), run: ({ to }) => void sent.push(to) })
    await world.work(app)
    await app.pause('mail.send', { reason: 'the provider is down' })
    expect(await mail.enqueue({ to: 'ann' })).toMatchObject({ status: 'held' })
    expect(await mail.enqueueMany([{ to: 'bob' }, { to: 'cem' }])).toMatchObject({ added: 0, held: 2 })
    await mail.enqueue({ to: 'dora' }, { in: '1m' })
    await app.transaction(async (tx) => {
      expect(await mail.enqueue({ to: 'eve' }, { tx })).toMatchObject({ status: 'held' })
    })
    expect(await queue.count(['mail.send'])).toEqual(new Map([['mail.send', { due: 0, delayed: 0 }]]))
    await world.pass(25_000)
    expect(sent).toEqual([])
    expect(await world.query('select count(*)::int as stored from regrow.intents')).toEqual([{ stored: 5 }])
    await app.resume('mail.send')
    expect(await mail.enqueue({ to: 'fay' })).toMatchObject({ status: 'added' })
    await world.until(() => sent.length === 5, 10_000)
    await world.until(() => sent.length === 6, 60_000)
    expect(sent.toSorted()).toEqual(['ann', 'bob', 'cem', 'dora', 'eve', 'fay'])
    expect(sent.at(-1), 'its own time is kept').toBe('dora')
    expect(ear.of('hint.dropped')).toEqual([])
  })

  test('its sweeps push nothing and count what waits', async () => {
    const { app, ear, queue } = world.app()
    await fill(30)
    await world.query(`insert into regrow.ledger (job, key, state) values ('thing.make', 'k0000003', 'quarantined')`)
    const { handler } = marking(app)
    await app.pause('thing.make', { reason: 'not now' })
    const pushes = pushesOf(queue)
    await world.work(app, { handlers: [handler] })
    expect(ear.of('sweep.passed')).toMatchObject([{ seen: 30, pushed: 0, held: 30, finished: true }])
    expect(await operate(app).pauses()).toMatchObject([{ job: 'thing.make', backlog: 30 }])
    await fill(45)
    await world.until(() => ear.of('sweep.passed').length === 3)
    expect(ear.of('sweep.passed').slice(1)).toMatchObject([
      { seen: 45, pushed: 0, held: 45 },
      { seen: 45, pushed: 0, held: 45 },
    ])
    expect(await operate(app).sweep()).toMatchObject([
      { job: 'thing.make', paused: true, seen: 45, pushed: 0, held: 45 },
    ])
    expect(pushes).toEqual([])
    expect(await operate(app).pauses()).toMatchObject([{ backlog: 30 }])
    await app.resume('thing.make')
    await world.until(async () => (await left()) === 1, 5_000)
  })

  test('processes behind queues of their own do not hint it either, and do so soon after the resume', async () => {
    const { app, ear, queue } = world.app({}, world.queue({}, { shared: false }))
    const pushes = pushesOf(queue)
    const { handler } = marking(app)
    await app.pause('thing.make', { reason: 'not now' })
    await world.work(app, { handlers: [handler] })
    await fill(500)
    await world.pass(25_000)
    expect(pushes).toEqual([])
    expect(ear.of('hint.refused')).toEqual([])
    await app.resume('thing.make')
    await world.until(async () => (await left()) === 0, 15_000)
  })

  test('a pass that was under way ends after its page, and its place is forgotten', async () => {
    let pause = async () => {}
    const { app, ear, queue } = world.app({ store: interrupted('after the page', () => pause()) })
    await fill(25_000)
    const { handler } = marking(app)
    pause = async () => void (await app.pause('thing.make', { reason: 'not now' }))
    const pushes = pushesOf(queue)
    await world.work(app, { handlers: [handler] })
    await world.until(() => ear.of('sweep.passed').length === 2, 10_000)
    expect(ear.of('sweep.passed')).toMatchObject([
      { seen: 10_000, finished: false },
      { seen: 25_000, pushed: 0, held: 25_000, finished: true },
    ])
    expect(pushes.flatMap(({ keys }) => keys).length).toBeLessThanOrEqual(10_000)
    await world.pass(25_000)
    expect(ear.of('job.started')).toEqual([])
    expect(ear.of('sweep.passed', { seen: 15_000 })).toEqual([])
  })

  test('a pass that comes back slowly ends within a second when its job is paused again', async () => {
    const { app, ear, queue } = world.app()
    await fill(9_000)
    const { handler } = marking(app)
    await app.pause('thing.make', { reason: 'not now' })
    await world.work(app, { handlers: [handler] })
    const pushes = pushesOf(queue)
    await app.resume('thing.make')
    await world.until(() => pushes.length > 0, 5_000)
    await world.pass(500)
    await app.pause('thing.make', { reason: 'not yet' })
    const pausedAt = world.clock.now()
    await world.pass(22_000)
    expect(pushes.filter(({ at }) => at > pausedAt + 1_100)).toEqual([])
    const started = ear.of('job.started').length
    await world.pass(22_000)
    expect(ear.of('job.started')).toHaveLength(started)
    expect(await left()).toBe(9_000 - started)
  })
})

/** Everything of `count` rows that sweeps pushed since `from` came slowly at first, in the order of its keys. */
function expectRamp(pushes: { at: number; keys: string[] }[], from: number, count: number) {
  let sum = 0
  for (const { at, keys } of pushes) {
    sum += keys.length
    expect(sum, `after ${at - from} ms`).toBeLessThanOrEqual(allowedBy(at - from))
  }
  // What a full queue did not take comes again.
  const keys = [...new Set(pushes.flatMap((each) => each.keys))]
  expect(keys).toEqual([...keys].sort())
  expect(keys.length).toBe(count)
  // It is not the queue that was slow: all of them at once would have been one push of each thousand.
  expect((pushes.at(-1)?.at ?? 0) - from).toBeGreaterThan(100)
}

describe('everything comes back', () => {
  test('by a resume: a new pass from the beginning, slowly at first (L9)', async () => {
    const { app, ear, queue } = world.app({}, world.queue({ maxHints: 2_000 }))
    await fill(6_000)
    const gate = { open: false }
    const job = app.job('thing.make', {
      pending: sql`select id from things where state = 'pending'`,
      sweep: { every: '1h' },
      batch: 1_000,
    })
    const handler = job.handle(async (ids, ctx) => {
      while (!gate.open) await world.clock.sleep(100)
      await ctx.tx((tx) => tx.query(finish('things'), [JSON.stringify(ids)]))
    })
    // A pass that stopped in the middle, since the queue was full: the one after the pause begins before its place.
    await world.work(app, { handlers: [handler], concurrency: 1 })
    expect(await world.query(`select cursor is not null as amid from regrow.sweeps`)).toEqual([{ amid: true }])
    await app.pause('thing.make', { reason: 'not now' })
    gate.open = true
    await world.pass(22_000)
    expect((await queue.count(['thing.make'])).get('thing.make')).toEqual({ due: 0, delayed: 0 })
    const waiting = (await left()) as number
    expect(waiting).toBeGreaterThan(4_000)
    const pushes = pushesOf(queue)
    const from = world.clock.now()
    expect(await app.resume('thing.make')).toBe(true)
    await world.until(async () => (await left()) === 0, 60_000)
    expectRamp(pushes, from, waiting)
    expect(pushes[0]?.at).toBeLessThan(from + 1_500)
    expect(ear.of('job.settled', { state: 'done' })).toHaveLength(6_000)
    expect(ear.of('pause.over')).toEqual([])
  })

  test('by itself when the pause was for a time; told once, however many processes are there', async () => {
    const queue = world.queue()
    const [one, two] = [world.app({}, queue), world.app({}, queue)]
    const handlers = [one, two].map(({ app }) => marking(app).handler)
    const { until, since } = await one.app.pause('thing.make', { reason: 'for a while', for: '1m' })
    expect(until?.getTime()).toBe(since.getTime() + 60_000)
    const from = world.clock.now()
    await world.work(one.app, { handlers: handlers.slice(0, 1) })
    await world.work(two.app, { handlers: handlers.slice(1) })
    await fill(5_000)
    const over = (ear: Ear) => ear.of('pause.over')
    const pushes = pushesOf(queue)
    await world.until(() => world.clock.now() >= from + 59_900)
    expect([...over(one.ear), ...over(two.ear), ...pushes]).toEqual([])
    await world.until(() => over(one.ear).length + over(two.ear).length > 0, 1_500)
    const overAt = world.clock.now()
    expect(await operate(two.app).pauses()).toEqual([])
    await world.until(async () => (await left()) === 0, 60_000)
    expectRamp(pushes, overAt, 5_000)
    expect([...over(one.ear), ...over(two.ear)]).toEqual([{ job: 'thing.make' }])
    expect(await audit()).toMatchObject([
      { action: 'pause', job: 'thing.make' },
      { author: 'regrow', action: 'pause.over', job: 'thing.make' },
    ])
  })
})
