// Enqueue: the row or intent is the work, the hint is only for speed. On PGlite in virtual time; where a commit of
// somebody else matters, on Postgres.

import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Hint } from '../../src/drivers/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import type { App, QueueDriver } from '../../src/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear, openWorld } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

const world = openWorld(`create table things (id text primary key, state text not null default 'pending')`)

const things = (app: App) =>
  app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '10s' },
    run: (id, ctx) => ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id])),
  })
const mail = (app: App, sent: unknown[] = []) =>
  app.job('mail.send', {
    input: z.object({ to: z.string() }),
    sweep: { every: '10s' },
    run: ({ to }) => void sent.push(to),
  })
const intents = () => world.query(`select id, input, run_at, unique_key from regrow.intents order by id`)
const add = (...ids: string[]) =>
  world.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(ids)])

describe('keys', () => {
  test('one and many are hinted, and the report says what became of each', async () => {
    const { app, queue } = world.app({}, world.queue({ maxHints: 3 }))
    const job = things(app)
    expect(await job.enqueue('a')).toEqual({ key: 'a', status: 'added' })
    expect(await job.enqueue('a')).toEqual({ key: 'a', status: 'merged' })
    expect(await job.enqueueMany(['a', 'b', 'c', 'd', 'b'])).toEqual({
      added: 2,
      merged: 2,
      dropped: 1,
      held: 0,
      keys: ['a', 'b', 'c', 'd', 'b'],
    })
    expect(await job.enqueueMany([])).toEqual({ added: 0, merged: 0, dropped: 0, held: 0, keys: [] })
    expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 3, delayed: 0 }]]))
  })

  test('a key has one text however it is written', async () => {
    const { app, queue } = world.app()
    const job = app.job('row.mark', { key: 'uuid', pending: sql`select gen_random_uuid() as id` })
    const id = '0197A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B'
    expect(await job.enqueueMany([id, id.toLowerCase(), `{${id}}`])).toMatchObject({ added: 1, merged: 2 })
    const { hints } = await queue.pop({ jobs: [{ job: 'row.mark', limit: 9 }], limit: 9, waitMs: 0 })
    expect(hints).toEqual([{ job: 'row.mark', key: id.toLowerCase(), fresh: true }])
  })

  test('a key over 1 KiB is refused, and none of its neighbours is pushed', async () => {
    const { app, queue } = world.app()
    const job = things(app)
    await expect(job.enqueueMany(['a', 'x'.repeat(1_025), 'b'])).rejects.toMatchObject({ code: 'key_too_long' })
    await expect(job.enqueueMany(['a', 7 as never])).rejects.toMatchObject({ code: 'bad_key' })
    expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 0, delayed: 0 }]]))
  })

  test.each([
    [{ in: '10m' }, /`in` was given to "thing.make".*The row says when: return it as `run_at`/s],
    [{ at: new Date(0) }, /`at` was given to "thing.make".*The row says when/s],
    [{ jiter: '5m' }, /unknown option "jiter"; did you mean "jitter"\?/],
    [{ unique: 'x' }, /unknown option "unique"/],
    [{ jitter: 'soon' }, /`jitter` is "soon"/],
  ])('%j is refused', async (options, message) => {
    await expect(things(world.app().app).enqueue('a', options as never)).rejects.toThrow(message)
  })

  test('jitter spreads starts between its two durations', async () => {
    const { app, ear } = world.app()
    const job = app.job('thing.make', {
      pending: sql`select id from things where state = 'pending'`,
      sweep: { every: '1h' },
      run: (id, ctx) => ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id])),
    })
    await world.work(app)
    const ids = Array.from({ length: 40 }, (_, i) => `k${i}`)
    await add(...ids)
    await job.enqueueMany(ids, { jitter: ['2s', '10s'] })
    await world.until(() => ear.of('job.settled').length === 40)
    const starts = ear.times('job.started')
    expect(Math.min(...starts)).toBeGreaterThanOrEqual(2_000)
    expect(Math.max(...starts)).toBeLessThanOrEqual(10_100)
    expect(Math.min(...starts)).toBeLessThan(4_000)
    expect(Math.max(...starts)).toBeGreaterThan(8_000)
  })

  test('an enqueue without jitter makes the hint of an earlier one sooner', async () => {
    const { app, ear } = world.app()
    const job = things(app)
    await world.work(app)
    await add('a')
    await job.enqueue('a', { jitter: ['1h', '2h'] })
    await job.enqueue('a')
    await world.until(() => ear.of('job.settled').length === 1, 500)
  })
})

describe('inputs', () => {
  test('an intent is stored, hinted, run and gone', async () => {
    const { app, ear } = world.app()
    const sent: unknown[] = []
    const job = mail(app, sent)
    const { key, status } = await job.enqueue({ to: 'ada' })
    expect(status).toBe('added')
    expect(await intents()).toEqual([{ id: key, input: { to: 'ada' }, run_at: null, unique_key: null }])
    await world.work(app)
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
    expect(sent).toEqual(['ada'])
    expect(await intents()).toEqual([])
  })

  test('many are stored in pages, each with an id of its own, in the order given', async () => {
    const { app, queue } = world.app()
    const report = await mail(app).enqueueMany(Array.from({ length: 2_500 }, (_, i) => ({ to: `n${i}` })))
    expect(report.added).toBe(2_500)
    expect(new Set(report.keys).size).toBe(2_500)
    expect((await intents()).length).toBe(2_500)
    expect(
      await world.query(`select input ->> 'to' as to from regrow.intents where id = $1`, [report.keys[1_234]]),
    ).toEqual([{ to: 'n1234' }])
    expect(await queue.count(['mail.send'])).toEqual(new Map([['mail.send', { due: 2_500, delayed: 0 }]]))
  })

  test.each([
    ['in', { in: '30s' }],
    ['at', { at: new Date(Date.UTC(2026, 0, 1, 0, 0, 30)) }],
  ] as const)('%s is stored with the intent, so it survives the loss of the queue', async (_, when) => {
    const { app, queue, ear } = world.app()
    const job = mail(app)
    await job.enqueue({ to: 'ada' }, when)
    expect(
      await world.query(
        `select extract(epoch from run_at - timestamptz '2026-01-01 00:00:00+00')::int as at from regrow.intents`,
      ),
    ).toEqual([{ at: 30 }])
    await world.work(app)
    await queue.wipe()
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
    const [started] = ear.times('job.started')
    expect((started as number) + 100).toBeCloseTo(30_000, -2)
  })

  test('at in the past starts at once', async () => {
    const { app, ear } = world.app()
    const job = mail(app)
    await world.work(app)
    await job.enqueue({ to: 'ada' }, { at: new Date(0) })
    await world.until(() => ear.of('job.settled').length === 1, 100)
  })

  test('the same id twice is one intent: a repeated call after a lost reply adds nothing', async () => {
    const { app, ear } = world.app()
    const sent: unknown[] = []
    const job = mail(app, sent)
    const id = '0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'
    expect(await job.enqueue({ to: 'ada' }, { id })).toMatchObject({ key: id, status: 'added' })
    expect(await job.enqueue({ to: 'ada' }, { id: id.toUpperCase() })).toMatchObject({ key: id, status: 'merged' })
    expect(await intents()).toHaveLength(1)
    await world.work(app)
    await world.until(() => ear.of('job.settled').length === 1)
    await world.pass(15_000)
    expect(sent).toEqual(['ada'])
  })

  test('an id that is another job’s intent is refused: this one would be lost', async () => {
    const { app } = world.app()
    const id = '0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'
    await app.job('other', { input: z.string() }).enqueue('first', { id })
    await expect(mail(app).enqueue({ to: 'ada' }, { id })).rejects.toMatchObject({
      code: 'id_in_use',
      message: expect.stringContaining('belongs to an intent of "other"'),
    })
    expect(await intents()).toMatchObject([{ id, input: 'first' }])
  })

  test('unique until its success: merged into the intent that has it, waiting or running, and free when that is done', async () => {
    const { app, ear } = world.app()
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const job = app.job('mail.send', { input: z.string(), uniqueUntil: 'success', run: () => held })
    const first = await job.enqueue('one', { unique: 'ada' })
    const waiting = await job.enqueue('two', { unique: 'ada' })
    expect(waiting).toEqual({ key: first.key, status: 'merged' })
    await world.work(app)
    await world.until(() => ear.of('job.started').length === 1)
    expect(await job.enqueue('three', { unique: 'ada' })).toMatchObject({ key: first.key, status: 'merged' })
    expect(await job.enqueue('four', { unique: 'bob' })).toMatchObject({ status: 'added' })
    letGo()
    await world.until(() => ear.of('job.settled').length === 2)
    expect(await job.enqueue('five', { unique: 'ada' })).toMatchObject({ status: 'added' })
  })

  test('what a paused job is given is stored and counted as held', async () => {
    const { app, queue } = world.app()
    const job = mail(app)
    await world.query(`insert into regrow.pauses values ('mail.send', 'provider down', 'ann', regrow.clock(), null)`)
    expect(await job.enqueueMany([{ to: 'a' }, { to: 'b' }])).toMatchObject({
      added: 0,
      merged: 0,
      dropped: 0,
      held: 2,
    })
    expect(await intents()).toHaveLength(2)
    expect(await queue.count(['mail.send'])).toEqual(new Map([['mail.send', { due: 0, delayed: 0 }]]))
  })

  const anything = (value: unknown) => ({ to: value })
  test.each<[string, unknown, object, string, RegExp]>([
    ['what the schema refuses', anything(7), {}, 'bad_input', /does not fit its schema: to: /],
    [
      '256 KiB and a byte',
      anything('x'.repeat(256 * 1024 - '{"to":""}'.length + 1)),
      {},
      'input_too_long',
      /262144 bytes as JSON.*262145/,
    ],
    ['a NUL character', anything('a\0b'), {}, 'bad_input', /holds a NUL character/],
    ['half of a surrogate pair', anything('a\uD83Db'), {}, 'bad_input', /half of a surrogate pair/],
    ['a bigint', anything(7n), {}, 'bad_input', /cannot be written as JSON/],
    ['both in and at', anything('x'), { in: '1s', at: new Date() }, 'bad_options', /Both `in` and `at`/],
    ['a date that is none', anything('x'), { at: new Date('x') }, 'bad_options', /`at` is Invalid Date/],
    ['an id that is no uuid', anything('x'), { id: 'x' }, 'bad_key', /type uuid/],
    ['a unique key over 1 KiB', anything('x'), { unique: 'x'.repeat(1_025) }, 'key_too_long', /1024 bytes/],
    ['a unique key with NUL', anything('x'), { unique: 'a\0b' }, 'bad_key', /without NUL/],
    ['an unknown option', anything('x'), { uniqe: 'x' }, 'bad_options', /did you mean "unique"\?/],
  ])('%s is refused, and nothing is half-written', async (_, bad, options, code, message) => {
    const { app, queue } = world.app()
    const job = mail(app)
    const refused = { code, message: expect.stringMatching(message) }
    await expect(job.enqueue(bad as never, options)).rejects.toMatchObject(refused)
    await expect(job.enqueueMany([{ to: 'good' }, bad as never], options as never)).rejects.toBeInstanceOf(Error)
    expect(await intents()).toEqual([])
    expect(await queue.count(['mail.send'])).toEqual(new Map([['mail.send', { due: 0, delayed: 0 }]]))
  })

  test.each([{ id: '0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b' }, { unique: 'x' }])(
    'one %j for many inputs would lose all but one: refused',
    async (options) => {
      const job = mail(world.app().app)
      await expect(job.enqueueMany([{ to: 'a' }, { to: 'b' }], options as never)).rejects.toThrow(
        'all but one would be lost',
      )
      expect(await intents()).toEqual([])
    },
  )

  test.each([
    ['256 KiB', 'x'.repeat(256 * 1024 - '{"to":""}'.length)],
    ['text that only looks like an escaped NUL', 'a\\u0000b \\\\ud800'],
    ['every kind of character', '"\\/\b\f\n\r\t\u0001\u007f\u2028😀ä'],
  ])('%s is stored and comes back as it was', async (_, to) => {
    const { app, ear } = world.app()
    const sent: unknown[] = []
    const job = mail(app, sent)
    await job.enqueue({ to })
    await world.work(app)
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
    expect(sent).toEqual([to])
  })

  test('an input that its schema would refuse when it is read back is refused now', async () => {
    const { app } = world.app()
    const dated = app.job('dated', { input: z.object({ at: z.date() }) })
    await expect(dated.enqueue({ at: new Date() })).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringMatching(/at: .*stored as JSON.*z\.coerce\.date\(\)/s),
    })
    const coerced = app.job('coerced', { input: z.object({ at: z.coerce.date() }) })
    expect(await coerced.enqueue({ at: new Date() })).toMatchObject({ status: 'added' })
    expect(await intents()).toHaveLength(1)
  })
})

describe('a broken queue never fails the request', () => {
  const broken = (parts: Partial<{ open: boolean; push: boolean }>): { driver: QueueDriver; mend: () => void } => {
    let mended = false
    const inner = world.queue()
    const queue = new Proxy(inner, {
      get: (target, name) => {
        if (name === 'push' && parts.push && !mended) return () => Promise.reject(new Error('the queue is away'))
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const open = async () => {
      if (parts.open && !mended) throw new Error('the queue is away')
      return queue
    }
    const mend = () => {
      mended = true
    }
    return { driver: { kind: 'queue', name: 'broken', open }, mend }
  }

  test.each([{ push: true }, { open: true }])(
    '%j: it is an event, and the work runs when the queue is back',
    async (parts) => {
      const { driver, mend } = broken(parts)
      const { app, ear } = world.app({ queue: driver })
      const sent: unknown[] = []
      const [rows, mails] = [things(app), mail(app, sent)]
      await add('a')
      expect(await rows.enqueue('a')).toMatchObject({ status: 'dropped' })
      expect(await mails.enqueue({ to: 'ada' })).toMatchObject({ status: 'dropped' })
      await app.transaction(async (tx) => {
        await mails.enqueue({ to: 'bob' }, { tx })
      })
      expect(ear.of('hint.dropped')).toEqual(
        Array(3).fill({ count: 1, why: 'queue', error: new Error('the queue is away') }),
      )
      expect(await intents()).toHaveLength(2)
      mend()
      await world.work(app)
      await world.until(() => ear.of('job.settled', { state: 'done' }).length === 3)
      expect(sent.sort()).toEqual(['ada', 'bob'])
    },
  )
})

describe('app.transaction', () => {
  test('hints are pushed after its commit, not before', async () => {
    const { app, queue, ear } = world.app()
    const [rows, mails] = [things(app), mail(app)]
    const hints = async () =>
      [...(await queue.count(['thing.make', 'mail.send'])).values()].map(({ due, delayed }) => due + delayed)
    const answer = await app.transaction(async (tx) => {
      await tx.query(`insert into things (id) values ($1)`, ['a'])
      expect(await rows.enqueue('a', { tx })).toMatchObject({ key: 'a', status: 'added' })
      expect(await mails.enqueueMany([{ to: 'ada' }, { to: 'bob' }], { tx })).toMatchObject({ added: 2 })
      expect(await hints()).toEqual([0, 0])
      return 'the answer'
    })
    expect(answer).toBe('the answer')
    expect(await hints()).toEqual([1, 2])
    await world.work(app)
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 3, 1_000)
  })

  test('after a rollback there is neither hint nor intent nor row', async () => {
    const { app, queue } = world.app()
    const [rows, mails] = [things(app), mail(app)]
    const failing = app.transaction(async (tx) => {
      await tx.query(`insert into things (id) values ('a')`)
      await rows.enqueue('a', { tx })
      await mails.enqueue({ to: 'ada' }, { tx })
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await queue.count(['thing.make', 'mail.send'])).toEqual(
      new Map(['thing.make', 'mail.send'].map((job) => [job, { due: 0, delayed: 0 }])),
    )
    expect([await intents(), await world.query(`select * from things`)]).toEqual([[], []])
  })
})

describe('a transaction of the user’s own', () => {
  let database: FreshDatabase
  let client: pg.Client
  let app: App

  beforeAll(async () => {
    database = await freshDatabase('enqueue')
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(`create table things (id text primary key, state text not null default 'pending')`)
  })
  beforeEach(() => {
    app = regrow({ store: postgres(database.url) })
  })
  afterAll(async () => {
    await client.end()
    await database.drop()
  })

  const every = { sweep: { every: '1h' } } as const

  test('an intent commits or rolls back with it', async () => {
    const job = app.job('mail.send', { input: z.string(), ...every })
    const count = async () => Number((await client.query(`select count(*) from regrow.intents`)).rows[0].count)
    await operate(app).migrate()
    await client.query('begin')
    await job.enqueue('ada', { tx: client })
    await client.query('rollback')
    expect(await count()).toBe(0)
    await client.query('begin')
    await job.enqueue('ada', { tx: client })
    await client.query('commit')
    expect(await count()).toBe(1)
    await client.query(`delete from regrow.intents`)
    await app.close()
  })

  test('its hint goes out before the commit, is refused, looked at again, and runs after the commit without a sweep', async () => {
    const ear = new Ear(app)
    const ran: string[] = []
    const rows = app.job('thing.make', {
      pending: sql`select id from things where state = 'pending'`,
      ...every,
      async run(id, ctx) {
        ran.push(id)
        await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
      },
    })
    const mails = app.job('mail.send', { input: z.string(), ...every, run: (to) => void ran.push(to) })
    const worker = app.work()
    await worker.ready
    await firstSweepsOver()
    const passes = ear.of('sweep.passed').length
    await client.query('begin')
    await client.query(`insert into things (id) values ('a')`)
    await rows.enqueue('a', { tx: client })
    await mails.enqueue('ada', { tx: client })
    await ear.until(() => ear.of('hint.refused', { why: 'not_pending' }).length >= 2)
    expect(ran).toEqual([])
    await client.query('commit')
    await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 2)
    expect(ran.sort()).toEqual(['a', 'ada'])
    expect(ear.of('sweep.passed').length).toBe(passes)
    await worker.stop()
    await app.close()
  })

  /** A new worker sweeps when it starts, and again when it first sees the queue. Later passes are an hour away. */
  async function firstSweepsOver(): Promise<void> {
    const over = `select (select sequence > 0 from regrow.marks)
        and not exists (select from regrow.sweeps where holder is not null or next_at < now() + interval '30 min') as over`
    while (!(await client.query(over)).rows[0].over) await client.query('select pg_sleep(0.02)')
  }
})

test('hints carry identity only: nothing of an input reaches the queue', async () => {
  const { app, queue } = world.app()
  await mail(app).enqueue({ to: 'ada' })
  const { hints } = await queue.pop({ jobs: [{ job: 'mail.send', limit: 1 }], limit: 1, waitMs: 0 })
  expect(Object.keys(hints[0] as Hint).sort()).toEqual(['fresh', 'job', 'key'])
  expect(JSON.stringify(hints)).not.toContain('ada')
})
