// A handler that returns while its row is still pending: no progress is told from new work where a version allows it.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openPglite, World } from './world.ts'

let db: PGlite
let world: World

beforeAll(async () => {
  db = await openPglite(
    `create table things (id text primary key, state text not null default 'pending', version int default 1, run_at timestamptz)`,
  )
})
beforeEach(async () => {
  world = await World.begin(db, 'things')
  await db.exec(`insert into things (id) values ('a')`)
})
afterAll(() => db.close())

describe('with a version column', () => {
  const versioned = sql`select id, version from things where state = 'pending'`

  test('the same version is a failure that names the query, and at last quarantine', async () => {
    const { app, ear } = world.app()
    app.job('thing.make', { pending: versioned, retry: { attempts: 3, delay: '1s' }, sweep: { every: '1h' }, run() {} })
    await world.work(app)
    await world.pass(60_000)
    expect(ear.of('job.no_progress')).toEqual(Array(3).fill({ job: 'thing.make', key: 'a', why: 'same_version' }))
    expect(ear.of('job.settled').map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    const starts = ear.times('job.started')
    // The first start is before the zero of times: the second wait is twice the first, less a quarter.
    expect((starts[2] as number) - (starts[1] as number)).toBeGreaterThanOrEqual(1_500)
    expect(await world.query(`select state, failures, version, error from regrow.ledger`)).toEqual([
      {
        state: 'quarantined',
        failures: 3,
        version: '1',
        error: expect.stringContaining('the row is still pending in version 1: the pending query of "thing.make"'),
      },
    ])
  })

  test('another version is new work and starts at once', async () => {
    const { app, ear } = world.app()
    const versions: unknown[] = []
    app.job('thing.make', {
      pending: versioned,
      sweep: { every: '1h' },
      async run(id) {
        const [row] = await world.query<{ version: number }>(`select version from things where id = $1`, [id])
        versions.push(row?.version)
        // Somebody changes the row while it runs; the third version is the last.
        if (versions.length < 3) await world.query(`update things set version = version + 1`)
        else await world.query(`update things set state = 'done'`)
      },
    })
    await world.work(app)
    await world.until(() => versions.length === 3, 1_000)
    expect(versions).toEqual([1, 2, 3])
    await world.pass(1_000)
    expect(ear.of('job.no_progress')).toEqual([])
    expect(await world.query(`select * from regrow.ledger`)).toEqual([])
  })

  test('a row without a version is not blamed', async () => {
    await world.query(`update things set version = null`)
    const { app, ear } = world.app()
    app.job('thing.make', { pending: versioned, sweep: { every: '1h' }, run() {} })
    await world.work(app)
    await world.pass(10_000)
    expect(ear.of('job.no_progress')).toEqual([{ job: 'thing.make', key: 'a', why: 'no_version' }])
  })

  test.each([
    ['chance', sql`select id, gen_random_uuid() as version from things where state = 'pending'`],
    [
      'a source',
      {
        page: async (after: string | null) => (after === null ? [{ key: 'a', version: String(Math.random()) }] : []),
        isPending: async (keys: readonly string[]) => keys.map((key) => ({ key, version: String(Math.random()) })),
      },
    ],
  ])(
    'a version that is another one at each look (%s) is no new work: one run per sweep, and told',
    async (_, pending) => {
      const lines: string[] = []
      const { app, ear } = world.app({ log: ({ message }) => void lines.push(message) })
      app.job('thing.make', { pending, sweep: { every: '20s' }, run() {} })
      await world.work(app)
      await world.pass(15_000)
      expect(ear.of('job.no_progress')).toEqual([{ job: 'thing.make', key: 'a', why: 'version_changes' }])
      expect(lines).toEqual([
        'thing.make a ran, but its row is still pending, and its version is another one at each look: return a column that changes with the work, not the time or chance',
      ])
      await world.pass(60_000)
      expect(ear.of('job.started').length).toBe(ear.of('sweep.passed').length)
      expect((await operate(app).health()).findings).toMatchObject([{ code: 'no_progress', job: 'thing.make' }])
    },
  )

  test('a row that came to wait for its time is no lack of progress', async () => {
    const { app, ear } = world.app()
    app.job('thing.make', {
      pending: sql`select id, version, run_at from things where state = 'pending'`,
      sweep: { every: '1h' },
      run: () => world.query(`update things set run_at = regrow.clock() + interval '1 day'`),
    })
    await world.work(app)
    await world.pass(10_000)
    expect(ear.of('job.settled', { state: 'done' })).toHaveLength(1)
    expect(ear.of('job.no_progress')).toEqual([])
  })
})

test('without a version nothing is counted and nothing is pushed: the next sweep finds the row, one run per sweep', async () => {
  const { app, queue, ear } = world.app()
  app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    retry: { attempts: 2 },
    sweep: { every: '20s' },
    run() {},
  })
  await world.work(app)
  await world.pass(15_000)
  expect(ear.of('job.no_progress')).toEqual([{ job: 'thing.make', key: 'a', why: 'no_version' }])
  expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 0, delayed: 0 }]]))
  expect(await world.query(`select * from regrow.ledger`)).toEqual([])
  await world.pass(60_000)
  const runs = ear.of('job.started').length
  expect(runs).toBe(ear.of('sweep.passed').length)
  expect(runs).toBeGreaterThanOrEqual(4)
})

test('without a version it is told too, once per interval and not once per key', async () => {
  await db.exec(`insert into things (id) values ('b'), ('c')`)
  const lines: string[] = []
  const { app, ear } = world.app({ log: ({ message }) => void lines.push(message) })
  const pending = sql`select id from things where state = 'pending'`
  app.job('thing.make', { pending, sweep: { every: '1h' }, run() {} })
  await world.work(app)
  await world.until(() => ear.of('job.no_progress').length === 3)
  const text =
    'thing.make [abc] ran, but its row is still pending: it runs again with each sweep until the handler changes what the pending query asks for'
  expect(lines).toEqual([expect.stringMatching(new RegExp(`^${text}$`))])
  await world.pass(30_000)
  expect(lines).toEqual([
    expect.anything(),
    expect.stringMatching(/^thing\.make [abc] ran, .* \(and 1 more like it in the last 10s\)$/),
  ])
})

test('an input job ends with its intent; nobody asks for its progress', async () => {
  const { app, ear } = world.app()
  const job = app.job('mail.send', { input: z.string(), run() {} })
  await world.work(app)
  await job.enqueue('ada')
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
  await world.pass(5_000)
  expect(ear.of('job.no_progress')).toEqual([])
})
