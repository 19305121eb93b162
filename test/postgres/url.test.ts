// The address of Postgres as a function: it is asked for every new connection, and what it throws is an error with a cure.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { RegrowError, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let admin: pg.Client
const roles = ['first', 'second'].map((name) => `${name}_${randomUUID().slice(0, 8)}`)

beforeAll(async () => {
  database = await freshDatabase('url_function')
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  // Two roles with the same rights: what rotates is who logs in, as with short-lived credentials.
  for (const role of roles) {
    await admin.query(`create role "${role}" login superuser password 'pw-${role}'`)
  }
  await admin.query(`create table things (id int primary key, state text not null default 'pending')`)
})
afterAll(async () => {
  for (const role of roles) await admin.query(`drop role "${role}"`).catch(() => {})
  await admin.end()
  await database.drop()
})

const urlOf = (role: string) => {
  const url = new URL(database.url)
  url.username = role
  url.password = `pw-${role}`
  return url.href
}

/** Ends all connections of a role, as a database does that moves. */
const endAll = (role: string) =>
  admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`, [role])

const users = async () =>
  (
    await admin.query(`select distinct usename from pg_stat_activity where datname = current_database()
     and backend_type = 'client backend' and pid <> pg_backend_pid()`)
  ).rows.map(({ usename }) => usename)

test('each new connection asks the function, also the one that listens: credentials that were replaced need no restart', async () => {
  const [first, second] = roles as [string, string]
  let current = first
  let asked = 0
  const app = regrow({
    store: postgres(async () => {
      asked++
      return urlOf(current)
    }),
    log: false,
  })
  const ear = new Ear(app)
  const job = app.job('thing.make', {
    key: 'int',
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '1h' },
    run: (id, ctx) => ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id])),
  })
  const run = async (id: number) => {
    await admin.query(`insert into things (id) values ($1)`, [id])
    await job.enqueue(id)
    await ear.hears('job.settled', { key: String(id), state: 'done' })
  }
  const listening = async () =>
    (
      await admin.query(
        `select usename from pg_stat_activity where datname = current_database() and query ~ '^listen '`,
      )
    ).rows
  const worker = app.work()
  await worker.ready
  await run(1)
  expect(await users()).toEqual([first])
  await expect.poll(listening, { timeout: 10_000 }).toEqual([{ usename: first }])
  const before = asked
  expect(before).toBeGreaterThan(2)

  current = second
  await admin.query(`alter role "${first}" password 'revoked'`)
  await endAll(first)
  await expect.poll(listening, { timeout: 10_000 }).toEqual([{ usename: second }])
  await run(2)
  expect(await users()).toEqual([second])
  expect(asked).toBeGreaterThan(before)
  await worker.stop()
  await app.close()
})

test('what the function throws reaches the call that needed the connection, with a cure and without the password', async () => {
  const app = regrow({
    store: postgres(() => {
      throw Object.assign(new Error('no token for postgres://app:hunter2@db/x'), { code: 'E_VAULT' })
    }),
    log: false,
  })
  const ear = new Ear(app)
  app.job('thing.make', { key: 'int', pending: sql`select id from things`, run() {} })
  const error = await operate(app)
    .status()
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(RegrowError)
  expect(error).toMatchObject({
    code: 'url_failed',
    message: expect.stringMatching(/threw: no token for.*→ .*Fix it/s),
    cause: { code: 'E_VAULT' },
  })
  // A mistake ends the start of a worker instead of being waited for.
  await expect(app.work().ready).rejects.toMatchObject({ code: 'url_failed' })
  expect(
    JSON.stringify([error, ear.told], (_, value) => (value instanceof Error ? inspected(value) : value)),
  ).not.toContain('hunter2')
  await app.close()
})

test('a worker waits for a function whose own server is away', async () => {
  let away = true
  const app = regrow({
    store: postgres(async () => {
      if (away)
        throw new TypeError('fetch failed', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) })
      return database.url
    }),
    log: false,
  })
  const ear = new Ear(app)
  app.job('thing.make', { key: 'int', pending: sql`select id from things where state = 'pending'`, run() {} })
  const worker = app.work()
  await ear.hears('loop.failed', { loop: 'open' })
  away = false
  await worker.ready
  await worker.stop()
  await app.close()
})

const inspected = ({ message, stack, cause }: Error): object => ({
  message,
  stack,
  ...(cause instanceof Error && { cause: inspected(cause) }),
})
