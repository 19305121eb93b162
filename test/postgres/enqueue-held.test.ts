// A unique text or id that another open transaction holds: its own caller waits, and no other one. On a real Postgres, with
// transactions that stay open.

import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { compose } from '../../src/app/regrow.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import type { App } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let admin: pg.Client
let app: App
const others: pg.Client[] = []

beforeAll(async () => {
  database = await freshDatabase('enqueue_held')
  admin = await connected('admin')
  const first = open()
  await operate(first).migrate()
  await first.close()
})
beforeEach(async () => {
  await admin.query('truncate regrow.intents, regrow.hints')
  app = open()
  await operate(app).status()
})
afterEach(async () => {
  for (const each of others.splice(0)) await each.end()
  await app.close()
})
afterAll(async () => {
  await admin.end()
  await database.drop()
})

/** `speed`: how much faster than the real one the clock goes by which a caller's patience is measured. */
const open = (speed = 1): App => {
  const clock = {
    ...systemClock,
    now: () => systemClock.now() * speed,
    sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / speed, signal),
  }
  return compose({ store: postgres(database.url) }, { clock, random: systemRandom }) as unknown as App
}
async function connected(name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url, application_name: name })
  client.on('error', () => {})
  await client.connect()
  return client
}
const declared = new WeakMap<App, Map<string, ReturnType<typeof declare>>>()
const declare = (name: string) => app.job(name, { input: z.object({ to: z.string() }) })
const mail = (name = 'mail.send') => {
  const jobs = declared.get(app) ?? new Map()
  declared.set(app, jobs)
  const job = jobs.get(name) ?? declare(name)
  jobs.set(name, job)
  return job as ReturnType<typeof declare>
}
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

/** A transaction of another program that has enqueued and stays open. */
async function holding(unique: string, name = 'checkout'): Promise<pg.Client> {
  const client = await connected(name)
  others.push(client)
  await client.query('begin')
  await mail().enqueue({ to: 'first' }, { unique, tx: client })
  return client
}
/** Ends as `promise` does, or with 'waits' when it has not ended soon. */
const soon = <T>(promise: Promise<T>, ms = 1_500): Promise<T | 'waits'> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'waits'>((resolve) => {
    timer = setTimeout(() => resolve('waits'), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

test('callers without a name, and with a free one, never wait for transactions that hold the names of others', async () => {
  const holders = await Promise.all(numbers(6).map((n) => holding(`held ${n}`)))
  const job = mail()
  const held: Promise<unknown>[] = []
  for (const n of numbers(6)) {
    held.push(job.enqueue({ to: 'second' }, { unique: `held ${n}` }))
    // Each has been to the store by itself.
    expect(await soon(held[n] as Promise<unknown>, 50)).toBe('waits')
  }
  for (const report of [
    await soon(job.enqueue({ to: 'plain' })),
    await soon(job.enqueue({ to: 'free' }, { unique: 'free' })),
    await soon(mail('mail.other').enqueue({ to: 'other' }, { unique: 'held 0' })),
  ])
    expect(report).toMatchObject({ status: 'added' })
  expect(await soon(job.enqueueMany([{ to: 'many' }, { to: 'more' }]))).toMatchObject({ added: 2 })
  // The same, when they come together.
  const together = await Promise.all([
    ...numbers(20).map((n) => soon(job.enqueue({ to: `plain ${n}` }))),
    ...numbers(20).map((n) => soon(job.enqueue({ to: `free ${n}` }, { unique: `free ${n}` }))),
  ])
  expect(together.filter((report) => report === 'waits')).toEqual([])
  await holders[0]?.query('commit')
  expect(await soon(held[0] as Promise<unknown>)).toMatchObject({ status: 'merged' })
  await holders[1]?.query('rollback')
  expect(await soon(held[1] as Promise<unknown>)).toMatchObject({ status: 'added' })
  for (const holder of holders.slice(2)) await holder.query('commit')
  for (const report of await Promise.all(held.slice(2))) expect(report).toMatchObject({ status: 'merged' })
})

test('what comes in one statement with held names is stored, and those names alone wait', async () => {
  const holders = await Promise.all(numbers(3).map((n) => holding(`held ${n}`)))
  const job = mail()
  const calls = numbers(60).map((n) => {
    const unique = n % 20 === 7 ? `held ${(n - 7) / 20}` : `free ${n}`
    return soon(job.enqueue({ to: `n${n}` }, { unique }))
  })
  const ends = await Promise.all(calls)
  expect(ends.flatMap((end, n) => (end === 'waits' ? [n] : []))).toEqual([7, 27, 47])
  const { rows } = await admin.query(`select count(*)::int as n from regrow.intents`)
  expect(rows).toEqual([{ n: 57 }])
  for (const holder of holders) await holder.query('rollback')
})

test('workers beat and settle while more names are waited for than there are connections', async () => {
  const holders = await Promise.all(numbers(8).map((n) => holding(`held ${n}`)))
  for (const [n, holder] of holders.entries())
    await mail('mail.other').enqueue({ to: 'first' }, { unique: `held ${n}`, tx: holder })
  const job = mail()
  const held: Promise<unknown>[] = []
  for (const n of numbers(8)) {
    held.push(job.enqueue({ to: 'second' }, { unique: `held ${n}` }))
    held.push(mail('mail.other').enqueue({ to: 'second' }, { unique: `held ${n}` }))
    await soon(held[2 * n] as Promise<unknown>, 20)
  }
  const ran: string[] = []
  const worker = app.work({ handlers: [job.handle(async ({ to }) => void ran.push(to))] })
  expect(await soon(worker.ready, 3_000)).toBeUndefined()
  const settled = new Promise((resolve) => app.on('job.settled', resolve))
  await job.enqueue({ to: 'plain' })
  expect(await soon(settled, 3_000)).toMatchObject({ state: 'done' })
  expect(ran).toEqual(['plain'])
  for (const each of others) await each.query('rollback')
  await Promise.all(held)
  await worker.stop()
})

test('a name that stays held fails its caller with the transaction that holds it; the next caller gets it', async () => {
  await app.close()
  app = open(40)
  const holder = await holding('ada', 'slow checkout')
  const { rows } = await holder.query('select pg_backend_pid() as pid')
  const job = mail()
  const error = await job.enqueue({ to: 'second' }, { unique: 'ada' }).then(
    () => null,
    (thrown) => thrown,
  )
  expect(error).toMatchObject({ name: 'RegrowError', code: 'unique_held' })
  expect(error.message).toContain('`unique` "ada" of "mail.send"')
  expect(error.message).toContain(`process ${rows[0].pid} ("slow checkout", idle in transaction`)
  expect(error.message).toContain('pg_terminate_backend')
  const next = job.enqueue({ to: 'third' }, { unique: 'ada' })
  await holder.query('rollback')
  expect(await next).toMatchObject({ status: 'added' })
})

test('an id that another transaction is about to commit is waited for by its own caller alone', async () => {
  const client = await connected('checkout')
  others.push(client)
  const id = '0191e8a0-7b6c-7def-8123-000000000001'
  await client.query('begin')
  await mail().enqueue({ to: 'first' }, { id, tx: client })
  const same = mail().enqueue({ to: 'second' }, { id })
  expect(await soon(same, 300)).toBe('waits')
  expect(await soon(mail().enqueue({ to: 'third' }, { id: id.replace(/1$/, '2') }))).toMatchObject({ status: 'added' })
  await client.query('commit')
  expect(await soon(same)).toEqual({ key: id, status: 'merged' })
})
