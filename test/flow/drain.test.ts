// app.drain in virtual time: it runs what is due, with sweeps and schedules, until nothing is, and says what it did.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type App, type DrainOptions, type DrainReport, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table things (id text primary key, state text not null default 'pending', version int)`)

const pending = sql`select id from things where state = 'pending'`
const insert = (...ids: string[]) =>
  world.query(`insert into things (id) select unnest($1::text[])`, [`{${ids.join(',')}}`])
const done = async (id: string) => void (await world.query(`update things set state = 'done' where id = $1`, [id]))
const states = async () =>
  Object.fromEntries(
    (await world.query<{ id: string; state: string }>(`select id, state from things order by id`)).map(
      ({ id, state }) => [id, state],
    ),
  )
const drain = (app: App, options?: DrainOptions): Promise<DrainReport> => world.over(app.drain(options))
const nothing = { runs: 0, succeeded: 0, failed: 0, quarantined: 0, swept: 0, sweepsFailed: [], ended: 'idle' }

test('rows that nobody enqueued run, and so does what handlers write and enqueue', async () => {
  const { app } = world.app()
  const mails: string[] = []
  const mail = app.job('mail', { input: z.object({ to: z.string() }), run: ({ to }) => void mails.push(to) })
  app.job('thing', {
    pending,
    async run(id) {
      await done(id)
      if (id === 'a') await insert('b')
      if (id === 'b') await mail.enqueue({ to: 'ada' })
    },
  })
  await insert('a')
  expect(await drain(app)).toEqual({ ...nothing, runs: 3, succeeded: 3, swept: 2, tookMs: expect.any(Number) })
  expect([await states(), mails]).toEqual([{ a: 'done', b: 'done' }, ['ada']])
  expect(await drain(app)).toMatchObject(nothing)
})

test('an error of a handler is counted and not thrown, and its next try is left to a later drain', async () => {
  const { app } = world.app()
  let calls = 0
  app.job('thing', {
    pending,
    retry: { attempts: 3, delay: '10m', backoff: 'fixed' },
    async run(id) {
      calls++
      if (id === 'bad') throw new Error('no such thing')
      await done(id)
    },
  })
  await insert('bad', 'good')
  expect(await drain(app)).toMatchObject({ runs: 2, succeeded: 1, failed: 1, quarantined: 0, ended: 'idle' })
  expect(await drain(app)).toMatchObject(nothing)
  await world.pass(900_000)
  expect(await drain(app)).toMatchObject({ runs: 1, failed: 1 })
  await world.pass(900_000)
  expect(await drain(app)).toMatchObject({ runs: 1, failed: 0, quarantined: 1 })
  expect(calls).toBe(4)
})

test('a slot that is due runs, one that is not does not', async () => {
  const { app } = world.app()
  const slots: string[] = []
  app.job('hourly', {
    schedule: { every: '1h', missed: 'once' },
    run: (slot) => void slots.push(slot.at.toISOString()),
  })
  expect(await drain(app)).toMatchObject({ runs: 0, ended: 'idle' })
  await world.pass(3_700_000)
  expect(await drain(app)).toMatchObject({ runs: 1, succeeded: 1 })
  expect(await drain(app)).toMatchObject({ runs: 0 })
  expect(slots).toHaveLength(1)
})

test('`max` is the number of keys that it starts, also of batches; the next drain goes on', async () => {
  const { app } = world.app()
  let most = 0
  const thing = app.job('thing', { pending, batch: 4 })
  const handler = thing.handle(async (ids) => {
    most = Math.max(most, ids.length)
    for (const id of ids) await done(id)
  })
  await insert(...Array.from({ length: 25 }, (_, i) => `k${i}`))
  const first = await drain(app, { handlers: [handler], max: 10 })
  expect(first).toMatchObject({ runs: 10, succeeded: 10, ended: 'max' })
  expect(Object.values(await states()).filter((state) => state === 'done')).toHaveLength(10)
  expect(await drain(app, { handlers: [handler], max: 100 })).toMatchObject({ runs: 15, ended: 'idle' })
  expect(most).toBe(4)
})

test('when `for` is over nothing begins any more, and what does not end in its grace is given back', async () => {
  const { app, ear } = world.app()
  let aborted = 0
  app.job('thing', {
    pending,
    async run(_, ctx) {
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
      aborted++
      throw new Error('aborted')
    },
  })
  await insert('a', 'b', 'c')
  const report = await drain(app, { concurrency: 2, for: '5s', grace: '1s' })
  expect(report).toMatchObject({ runs: 2, succeeded: 0, ended: 'timeout' })
  expect(report.tookMs).toBeGreaterThanOrEqual(6_000)
  expect(report.tookMs).toBeLessThan(8_000)
  expect([aborted, ear.of('job.settled', { state: 'quarantined' })]).toEqual([2, []])
  expect(await world.query(`select 1 from regrow.ledger where holder is not null`)).toEqual([])
  expect(await world.query(`select 1 from regrow.workers`)).toEqual([])
})

test('`only` leaves other jobs alone', async () => {
  const { app } = world.app()
  const ran: string[] = []
  for (const name of ['one', 'two'])
    app.job(name, {
      pending,
      async run() {
        ran.push(name)
        if (name === 'two') await done('a')
      },
    })
  await insert('a')
  expect(await drain(app, { only: 'two' })).toMatchObject({ runs: 1, ended: 'idle' })
  expect(ran).toEqual(['two'])
})

test('a row that stays as it is does not keep it for ever, with or without a version', async () => {
  const { app } = world.app()
  app.job('plain', { pending, run() {} })
  await insert('a')
  const plain = await drain(app)
  expect(plain).toMatchObject({ ended: 'idle', failed: 0 })
  expect(plain.runs).toBeGreaterThan(1)
  expect(plain.runs).toBeLessThan(20)
  const { app: other } = world.app()
  other.job('versioned', { pending: sql`select id, 1 as version from things where state = 'pending'`, run() {} })
  expect(await drain(other)).toMatchObject({ runs: 1, succeeded: 0, failed: 1, ended: 'idle' })
})

test('steps of one row that look the same run to the end', async () => {
  const { app } = world.app()
  app.job('step', {
    pending: sql`select id from things where state <> 'done'`,
    run: (id) =>
      world.query(
        `update things set version = coalesce(version, 0) + 1, state = case when version >= 4 then 'done' else state end where id = $1`,
        [id],
      ),
  })
  await insert('a')
  expect(await drain(app)).toMatchObject({ runs: 5, ended: 'idle' })
  expect(await states()).toEqual({ a: 'done' })
})

test('a broken pending query is named, and stops no other job', async () => {
  const { app } = world.app()
  app.job('broken', { pending: sql`select id from things where 1 / 0 = 1 and state = 'pending'`, run() {} })
  app.job('thing', { pending, run: done })
  await insert('a')
  expect(await drain(app)).toMatchObject({ runs: 1, succeeded: 1, sweepsFailed: ['broken'], ended: 'idle' })
})

test('a pause holds in a drain', async () => {
  const { app } = world.app()
  app.job('thing', { pending, run: done })
  await insert('a')
  await world.over(app.pause('thing', { reason: 'not now' }))
  expect(await drain(app)).toMatchObject(nothing)
  await world.over(app.resume('thing'))
  expect(await drain(app)).toMatchObject({ runs: 1 })
})

test('it counts its own runs only, and works beside a worker and another drain', async () => {
  const queue = world.queue()
  const [one, two] = [world.app({}, queue), world.app({}, queue)]
  const runs = new Map<string, number>()
  for (const { app } of [one, two])
    app.job('thing', {
      pending,
      async run(id) {
        runs.set(id, (runs.get(id) ?? 0) + 1)
        await world.clock.sleep(50)
        await done(id)
      },
    })
  await insert(...Array.from({ length: 60 }, (_, i) => `k${i}`))
  const reports = await world.over(Promise.all([one.app.drain(), two.app.drain(), one.app.drain()]))
  expect(reports.reduce((sum, report) => sum + report.runs, 0)).toBe(60)
  expect(new Set(runs.values())).toEqual(new Set([1]))
})

test('no live worker is no finding while something drains now and then; it is when that has ended', async () => {
  const { app } = world.app()
  app.job('thing', { pending, run: done })
  const codes = async () => (await world.over(operate(app).health())).findings.map(({ code }) => code)
  await insert('a')
  await drain(app)
  expect(await codes()).toEqual([])
  await world.pass(300_000)
  await insert('b')
  expect(await codes()).toEqual([])
  await world.pass(301_000)
  expect(await codes()).toEqual(['no_worker'])
  await drain(app)
  expect(await codes()).toEqual([])
})

test('closing the app ends it', async () => {
  const { app } = world.app()
  app.job('thing', {
    pending,
    run: (_, ctx) => new Promise((resolve) => ctx.signal.addEventListener('abort', resolve)),
  })
  await insert('a')
  const draining = app.drain({ grace: '1s' })
  await world.pass(1_000)
  await world.over(app.close())
  expect(await draining).toMatchObject({ runs: 1, ended: 'timeout' })
  await expect(app.drain()).rejects.toMatchObject({ code: 'closed' })
})

test.each<[DrainOptions, RegExp]>([
  [{ max: 0 }, /drain\(\): `max` is 0/],
  [{ for: 'soon' as never }, /drain\(\): `for`/],
  [{ until: 1 } as never, /drain\(\): unknown option "until"/],
  [{ only: 'thin' }, /drain\(\): `only` names "thin".*did you mean "thing"/],
])('%j is refused', async (options, says) => {
  const { app } = world.app()
  app.job('thing', { pending, run: done })
  await expect(app.drain(options)).rejects.toThrow(says)
})
