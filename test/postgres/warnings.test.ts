// What a person reads without having asked: failures are lines on standard error, and a mistake in the settings ends the start.

import type { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type LogRecord, RegrowError, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear, openPglite, reset } from '../flow/world.ts'
import { resisting, revoked } from '../hostile-values.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let db: PGlite
let database: FreshDatabase

beforeAll(async () => {
  db = await openPglite(`create table things (id text primary key, state text not null default 'pending')`)
  database = await freshDatabase('warnings')
})
beforeEach(() => reset(db, 'things'))
afterEach(() => vi.restoreAllMocks())
afterAll(async () => {
  await db.close()
  await database.drop()
})

const pending = sql`select id from things where state = 'pending'`

/** What is written to standard error from now on, by line. */
function standardError(): string[] {
  const lines: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    lines.push(...String(text).split('\n').filter(Boolean))
    return true
  })
  return lines
}

/** Runs what is pending until `count` keys have failed for good. */
async function untilFailed(app: App, count: number): Promise<void> {
  const ear = new Ear(app)
  const worker = app.work()
  await ear.until(() => ear.of('job.settled', { state: 'quarantined' }).length === count)
  await worker.stop()
  await app.close()
}

test('a handler that throws is one line on standard error, and those like it are counted', async () => {
  await db.exec(`insert into things (id) select 'k' || i from generate_series(1, 20) i`)
  const lines = standardError()
  const app = regrow({ store: pglite(db) })
  app.job('thing.make', {
    pending,
    retry: { attempts: 1 },
    run: (id) => {
      throw new Error(`no thing "${id}" at postgres://app:hunter2@db/x\u001b[2J\u202e`)
    },
  })
  await untilFailed(app, 20)
  expect(lines).toHaveLength(2)
  expect(lines[0]).toMatch(
    /^regrow: thing\.make k\d+ is in quarantine: Error: no thing "k\d+" at postgres:\/\/app:\[redacted\]@db\/x\\x1b\[2J\\u202e$/,
  )
  expect(lines[1]).toMatch(/\(and 18 more like it in the last \d+s\)$/)
})

test('log: false silences, and a function gets the records, also those of ctx.log', async () => {
  const lines = standardError()
  const records: LogRecord[] = []
  for (const log of [false, (record: LogRecord) => void records.push(record)] as const) {
    await reset(db, 'things')
    await db.exec(`insert into things (id) values ('a')`)
    const app = regrow({ store: pglite(db), log })
    app.job('thing.make', {
      pending,
      retry: { attempts: 1 },
      run: (_, ctx) => {
        ctx.log.info('it begins')
        throw new Error('it is broken')
      },
    })
    await untilFailed(app, 1)
  }
  expect(lines).toEqual([])
  expect(records).toEqual([
    { level: 'info', message: 'it begins', event: null, fields: { job: 'thing.make', key: 'a' } },
    {
      level: 'error',
      message: 'thing.make a is in quarantine: Error: it is broken',
      event: 'job.settled',
      fields: { job: 'thing.make', key: 'a' },
    },
  ])
})

test('a pending query that the store refuses is a line', async () => {
  const lines = standardError()
  const app = regrow({ store: pglite(db) })
  app.job('thing.make', { pending: sql`select id from nowhere`, run: () => {} })
  const ear = new Ear(app)
  const worker = app.work()
  await ear.hears('sweep.failed')
  await worker.stop()
  await app.close()
  expect(lines.find((line) => line.startsWith('regrow: the sweep of thing.make failed: '))).toContain('nowhere')
})

test('jobs without a handler and jobs that are declared late are named, those left to others are not', async () => {
  const records: LogRecord[] = []
  const app = regrow({ store: pglite(db), log: (record) => void records.push(record) })
  app.job('thing.make', { pending, run: () => {} })
  app.job('thing.bare', { pending })
  app.job('thing.others', { pending })
  const worker = app.work({ except: 'thing.others' })
  app.job('thing.late', { pending, run: () => {} })
  const some = app.work({ only: 'thing.make' })
  await Promise.all([worker.ready, some.ready])
  await Promise.all([worker.stop(), some.stop()])
  app.job('thing.later', { pending, run: () => {} })
  await app.close()
  const told = records.filter(({ event }) => event === 'job.unhandled').map(({ message }) => message)
  expect(told).toEqual([
    expect.stringContaining('this worker has no handler of thing.bare.'),
    expect.stringContaining('thing.late: declared after app.work()'),
  ])
})

test('a store that is away is waited for, and that is said at once', async () => {
  const records: LogRecord[] = []
  const app = regrow({
    store: postgres('postgres://app@127.0.0.1:1/nothing'),
    log: (record) => void records.push(record),
  })
  app.job('thing.make', { pending, run: () => {} })
  const ear = new Ear(app)
  const worker = app.work()
  await ear.hears('loop.failed', { loop: 'open' })
  await worker.stop()
  expect(records.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^the store cannot be reached, this worker waits for it: .*ECONNREFUSED/),
  ])
  await expect(worker.ready).rejects.toMatchObject({ code: 'stopping' })
  await app.close()
})

async function role(statements: (name: string) => string): Promise<string> {
  const name = `warned_${Math.trunc(performance.now() * 1000)}`
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`create role ${name} login; ${statements(name)}`)
  await client.end()
  const url = new URL(database.url)
  url.username = name
  return url.href
}

test.each([
  ['a database that does not exist', '3D000', async () => `${database.url}_none`],
  ['a role that does not exist', '28000', async () => database.url.replace(/\/\/[^@]*@/, '//nobody_here@')],
  ['a role that may not create a schema', '42501', () => role(() => '')],
])('%s rejects ready with its cause, and leaves the line to who asked', async (_, code, url) => {
  const records: LogRecord[] = []
  const app = regrow({ store: postgres(await url()), log: (record) => void records.push(record) })
  app.job('thing.make', { pending, run: () => {} })
  const worker = app.work()
  const error = await worker.ready.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(RegrowError)
  expect(error).toMatchObject({ code: 'store_refused', cause: { code } })
  await worker.stop()
  await app.close()
  // Who asks for `ready` has the error in hand.
  expect(records).toEqual([])
})

test('a role that lacks a right on a table of regrow rejects ready, too', async () => {
  const made = regrow({ store: postgres(database.url), log: false })
  await operate(made).migrate()
  await made.close()
  const url = await role((name) => `grant usage on schema regrow to ${name}; grant select on regrow.meta to ${name}`)
  const app = regrow({ store: postgres(url), log: false })
  app.job('thing.make', { pending, run: () => {} })
  const worker = app.work()
  await expect(worker.ready).rejects.toMatchObject({ code: 'store_refused', cause: { code: '42501' } })
  await app.close()
})

test('a listener that throws, or rejects, stops nothing: it is one line with its event, and an event of its own', async () => {
  await db.exec(`insert into things (id) values ('a'), ('b')`)
  const lines = standardError()
  const app = regrow({ store: pglite(db) })
  const told: object[] = []
  app.on('listener.failed', (detail) => told.push(detail))
  app.on('listener.failed', async () => Promise.reject(new Error('also this one')))
  app.on('job.settled', async ({ key }) => {
    throw new Error(`no room for ${key} with secret=hunter2`)
  })
  app.on('job.settled', () => {
    throw revoked(new Error('gone'))
  })
  app.job('thing.make', {
    pending,
    retry: { attempts: 1 },
    run: (_, ctx) => {
      ctx.log.info(revoked({}) as string)
      throw resisting(new Error('hidden'))
    },
  })
  await untilFailed(app, 2)
  expect(told).toHaveLength(4)
  expect(told[0]).toMatchObject({ event: 'job.settled' })
  expect(lines).toContainEqual('info  object {"job":"thing.make","key":"a"}')
  expect(lines).toContainEqual(
    expect.stringContaining('regrow: a listener of job.settled failed: no room for a with secret=[redacted]'),
  )
})
