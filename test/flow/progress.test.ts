// A handler that returns while its row is still pending: no progress is told from new work where a version allows it.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sql } from '../../src/index.ts'
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
    expect(ear.of('job.no_progress')).toEqual(Array(3).fill({ job: 'thing.make', key: 'a', counted: true }))
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
    expect(ear.of('job.no_progress')).toEqual([{ job: 'thing.make', key: 'a', counted: false }])
  })

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
  expect(ear.of('job.no_progress')).toEqual([{ job: 'thing.make', key: 'a', counted: false }])
  expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 0, delayed: 0 }]]))
  expect(await world.query(`select * from regrow.ledger`)).toEqual([])
  await world.pass(60_000)
  const runs = ear.of('job.started').length
  expect(runs).toBe(ear.of('sweep.passed').length)
  expect(runs).toBeGreaterThanOrEqual(4)
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
