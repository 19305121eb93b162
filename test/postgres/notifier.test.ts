// The notifier of the queue on Postgres: a push of another process wakes a pop at once, and a connection that broke, went mute
// or was never possible costs nothing but that.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { pledge } from '../../src/base/deferred.ts'
import { openDatabase } from '../../src/drivers/postgres/client/database.ts'
import { channel, type Listen, Notifier } from '../../src/drivers/postgres/queue/notifier.ts'
import { PostgresQueue } from '../../src/drivers/postgres/queue/postgres-queue.ts'
import { hintOf } from '../../src/drivers/postgres/store/opaque.ts'
import { statements as claimStatements } from '../../src/drivers/postgres/store/statements.gen.ts'
import type { Receipt } from '../../src/job/receipt.ts'
import type { PopRequest } from '../../src/queue/queue.ts'
import type { Waiters } from '../../src/queue/waiters.ts'
import { migrated } from '../conformance/postgres-subject.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { startProxy } from '../services/proxy.ts'

/** Time that passes so many times as fast. */
const clockOf = (pace: number): Clock => ({
  ...systemClock,
  now: () => systemClock.now() * pace,
  sleep: (ms, signal) => systemClock.sleep(ms / pace, signal),
  after: (ms, then) => systemClock.after(ms / pace, then),
})

/** A heartbeat each 0.2 s. */
const briskClock = clockOf(10)
/** Polls more than a minute apart. */
const lazyClock = clockOf(0.01)

/** Longer than any test lasts: who wakes before was told. */
const longMs = 3_600_000
const request: PopRequest = {
  jobs: [
    { job: 'thing.make', limit: 10, receipts: true },
    { job: 'thing.mend', limit: 10 },
  ],
  limit: 10,
  waitMs: longMs,
}
const waitingFor = (job: string): PopRequest => ({ jobs: [{ job, limit: 10 }], limit: 10, waitMs: longMs })

let database: FreshDatabase
let other: pg.Client
const open: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  database = await freshDatabase('notifier')
  other = new pg.Client({ connectionString: database.url })
  await other.connect()
})
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})
afterAll(async () => {
  await other.end()
  await database.drop()
})

async function listenOf(given: Parameters<typeof openDatabase>[0]): Promise<Listen | null> {
  const db = await openDatabase(given, {}, { clock: systemClock, leaseMs: 10_000 })
  open.push(db)
  return db.listen
}

async function notifierOf(given: Parameters<typeof openDatabase>[0] = database.url, clock = systemClock) {
  const notifier = new Notifier({ clock, listen: await listenOf(given) })
  open.push(notifier)
  return notifier
}

/** Sleeps until it is woken, and not for another reason. */
async function isWoken({ waiters }: Notifier, waiter: ReturnType<Waiters['join']>): Promise<void> {
  await waiters.sleep(waiter, longMs, undefined)
  expect(waiter.beginLook()).toBe(true)
}

/** A notifier that listens, and a pop that waits: it was woken once because the notifier began to listen. */
async function listening(given?: Parameters<typeof openDatabase>[0], clock?: Clock) {
  const notifier = await notifierOf(given, clock)
  const waiter = notifier.waiters.join(request)
  expect(notifier.listening).toBe(false)
  await isWoken(notifier, waiter)
  expect(notifier.listening).toBe(true)
  return { notifier, waiter }
}

const notify = (payload: string, client = other) => client.query('select pg_notify($1, $2)', [channel, payload])

/** Sessions of this database that listen. */
const listeners = async (): Promise<number[]> =>
  (
    await other.query(`select pid from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query ~ '^(listen|select 1)'`)
  ).rows.map(({ pid }) => pid)

test('a push of another process wakes who waits for that job, and nobody else', async () => {
  const { notifier, waiter } = await listening()
  const elsewhere = notifier.waiters.join(waitingFor('other.job'))
  const woken = isWoken(notifier, waiter)
  const stop = new AbortController()
  const asleep = notifier.waiters.sleep(elsewhere, longMs, stop.signal)
  await notify('nobody.knows')
  await notify('thing.mend')
  await woken
  expect(elsewhere.hasNews).toBe(false)
  stop.abort()
  await asleep
})

test('a hint that is told by name is known to who rests and wants to know, and wakes the others', async () => {
  const { notifier, waiter } = await listening()
  const incurious = notifier.waiters.join(waitingFor('thing.make'))
  const woken = Promise.all([notifier.waiters.sleep(waiter, longMs, undefined), isWoken(notifier, incurious)])
  await notify('thing.make\u001f7')
  await woken
  expect(waiter.given?.hints).toEqual([{ job: 'thing.make', key: '7', fresh: true }])
  expect(incurious.given).toBeUndefined()
})

test('who was rung before, or does not rest, has to look', async () => {
  const { notifier, waiter } = await listening()
  const heard = notifier.waiters.join(waitingFor('heard'))
  waiter.wake()
  const told = isWoken(notifier, heard)
  await notify('thing.make\u001f7')
  await notify('heard')
  await told
  expect([waiter.hasNews, waiter.given]).toEqual([true, undefined])
})

test('a payload that names no job wakes everybody', async () => {
  const { notifier, waiter } = await listening()
  const elsewhere = notifier.waiters.join(waitingFor('other.job'))
  const woken = Promise.all([isWoken(notifier, waiter), isWoken(notifier, elsewhere)])
  await notify('')
  await woken
})

test('a push between the look and the rest is not slept through', async () => {
  const { notifier, waiter } = await listening()
  notifier.waiters.wake(['thing.make'])
  await isWoken(notifier, waiter)
})

test('who rests wakes when its time is over or its signal aborts, also where nobody listens', async () => {
  const notifier = new Notifier({ clock: systemClock, listen: null })
  const waiter = notifier.waiters.join(request)
  await notifier.waiters.sleep(waiter, 5, undefined)
  const stop = new AbortController()
  const rest = notifier.waiters.sleep(waiter, longMs, stop.signal)
  stop.abort()
  await rest
  expect(waiter.hasNews).toBe(false)
  expect(notifier.listening).toBe(false)
  const woken = isWoken(notifier, waiter)
  notifier.waiters.wake(['thing.make'])
  await woken
})

test("beside a pool of the user's there is a connection that is not of the pool; beside one client there is none", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 2 })
  const { notifier, waiter } = await listening(pool)
  expect(pool.totalCount).toBe(0)
  const woken = isWoken(notifier, waiter)
  await notify('thing.make')
  await woken
  await pool.end()
  expect(await listenOf(new pg.Pool({ connectionString: database.url, max: 1 }))).toBeNull()
  expect(await listenOf(other)).toBeNull()
})

test('behind a transaction pooler nobody listens: its sessions are not ours', async () => {
  const listen = await listenOf(database.bouncerUrl)
  expect(await listen?.({ notified: () => {}, ended: () => {} })).toBeUndefined()
  const notifier = await notifierOf(database.bouncerUrl)
  const waiter = notifier.waiters.join(request)
  await notifier.waiters.sleep(waiter, 200, undefined)
  expect(waiter.hasNews).toBe(false)
  expect(notifier.listening).toBe(false)
  await expect.poll(listeners).toEqual([])
})

test('a connection that the server ended is made again, and listens again; everybody looks meanwhile', async () => {
  const { notifier, waiter } = await listening()
  const before = await listeners()
  const ended = isWoken(notifier, waiter)
  await other.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [before])
  await ended
  expect(notifier.listening).toBe(false)
  await isWoken(notifier, waiter)
  expect(notifier.listening).toBe(true)
  expect((await listeners()).some((pid) => !before.includes(pid))).toBe(true)
  const woken = isWoken(notifier, waiter)
  await notify('thing.make')
  await woken
})

test('a half-open connection is noticed by its heartbeat, dropped, and made again (F32)', async () => {
  const url = new URL(database.url)
  const proxy = await startProxy(Number(url.port))
  open.push(proxy)
  url.port = String(proxy.port)
  const { notifier, waiter } = await listening(url.href, briskClock)
  const noticed = isWoken(notifier, waiter)
  proxy.swallow()
  await noticed
  expect(notifier.listening).toBe(false)
  proxy.pass()
  await isWoken(notifier, waiter)
  expect(notifier.listening).toBe(true)
  const woken = isWoken(notifier, waiter)
  await notify('thing.make')
  await woken
})

test('a server that is away is asked again and again, less and less often, and heard when it is back', async () => {
  const url = new URL(database.url)
  const proxy = await startProxy(Number(url.port))
  open.push(proxy)
  url.port = String(proxy.port)
  proxy.refuse()
  const listen = (await listenOf(url.href)) as Listen
  const tries: number[] = []
  const enough = new AbortController()
  const notifier = new Notifier({
    clock: briskClock,
    listen: (on) => {
      tries.push(briskClock.now())
      if (tries.length === 8) enough.abort()
      return listen(on)
    },
  })
  open.push(notifier)
  const waiter = notifier.waiters.join(request)
  await notifier.waiters.sleep(waiter, longMs, enough.signal)
  expect(waiter.hasNews).toBe(false)
  const gaps = tries.slice(1).map((at, i) => at - (tries[i] as number))
  expect(gaps[0]).toBeGreaterThan(60)
  expect(gaps.at(-1)).toBeGreaterThan(3_500)
  proxy.pass()
  await isWoken(notifier, waiter)
  expect(notifier.listening).toBe(true)
})

test('a notifier that is closed wakes the pops that wait and leaves no connection behind', async () => {
  const { notifier, waiter } = await listening()
  const rest = isWoken(notifier, waiter)
  await expect.poll(listeners).toHaveLength(1)
  await notifier.close()
  await rest
  await notifier.waiters.sleep(waiter, longMs, undefined)
  await expect.poll(listeners).toEqual([])
})

test('a notifier is closed at once while it connects to a server that says nothing', async () => {
  const url = new URL(database.url)
  const proxy = await startProxy(Number(url.port))
  open.push(proxy)
  url.port = String(proxy.port)
  proxy.swallow()
  const notifier = await notifierOf(url.href)
  const waiter = notifier.waiters.join(request)
  const rest = isWoken(notifier, waiter)
  const begun = performance.now()
  await notifier.close()
  await rest
  expect(performance.now() - begun).toBeLessThan(4_000)
})

test('when nobody waited for a while the connection is closed, and opened again by the next who does', async () => {
  const { notifier, waiter } = await listening(database.url, briskClock)
  await expect.poll(listeners, { timeout: 10_000 }).toEqual([])
  expect(notifier.listening).toBe(false)
  waiter.beginLook()
  await isWoken(notifier, waiter)
  expect(notifier.listening).toBe(true)
})

async function queueOf(clock: Clock, listen?: Listen): Promise<PostgresQueue> {
  const db = await openDatabase(database.url, {}, { clock: systemClock, leaseMs: 10_000 })
  const queue = new PostgresQueue(db.queue, { clock, notifier: new Notifier({ clock, listen: listen ?? db.listen }) })
  open.push(db, queue)
  return queue
}

const hint = (key: string) => ({ job: 'thing.make', key, delayMs: 0, fresh: true })
const popping = (queue: PostgresQueue) =>
  queue.pop({ jobs: [{ job: 'thing.make', limit: 10 }], limit: 10, waitMs: longMs }).then(({ hints }) => hints)

test('a push of one process ends the pop of another without a poll', async () => {
  await migrated(database.url)
  const [here, there] = [await queueOf(lazyClock), await queueOf(systemClock)]
  const popped = popping(here)
  await expect.poll(listeners, { timeout: 20_000 }).toHaveLength(1)
  await there.push([hint('told')])
  expect(await popped).toEqual([{ job: 'thing.make', key: 'told', fresh: true }])
})

test('a pop that accepts receipts learns which hint was pushed while that hint is still in the queue', async () => {
  await migrated(database.url)
  const [here, there] = [await queueOf(lazyClock), await queueOf(systemClock)]
  const waiting = () =>
    here.pop({ jobs: [{ job: 'thing.make', limit: 10, receipts: true }], limit: 10, waitMs: longMs })
  const counted = async () => (await there.count(['thing.make'])).get('thing.make')?.due
  const popped = waiting()
  await expect.poll(listeners, { timeout: 20_000 }).toHaveLength(1)
  await there.push([hint('18')])
  const { hints, mark, receipt } = await popped
  expect({ hints, mark }).toEqual({ hints: [{ job: 'thing.make', key: '18', fresh: true }], mark: undefined })
  expect(await counted()).toBe(1)
  const { job, key } = hintOf(receipt as Receipt)
  const out = async () => (await other.query(claimStatements.claims.redeemReceipt, [job, key])).rows
  expect(await out()).toEqual([{ popped: true }])
  expect(await out()).toEqual([{ popped: false }])
  expect(await counted()).toBe(0)
})

test('several hints, or one whose key may be more than an id, are told by their job alone', async () => {
  await migrated(database.url)
  const there = await queueOf(systemClock)
  const said: string[] = []
  other.on('notification', ({ payload }) => void said.push(payload ?? ''))
  await other.query(`listen ${channel}`)
  const uuid = '018f0000-0000-7000-8000-00000000000a'
  for (const keys of [['1', '2'], ['someone@example.org'], ['cafe0123'], ['3'], [uuid], ['-4']])
    await there.push(keys.map(hint))
  await other.query('select 1')
  await other.query(`unlisten ${channel}`)
  await there.wipe()
  const named = (key: string) => `thing.make\u001f${key}`
  expect(said).toEqual(['thing.make', 'thing.make', 'thing.make', named('3'), named(uuid), named('-4')])
})

test('a push that the notifier does not hear of, though it seems to listen, is found by the polls under it', async () => {
  await migrated(database.url)
  const { promise: pinged, resolve } = pledge()
  const deaf: Listen = async () => ({ ping: async () => resolve(), close: async () => {} })
  const [here, there] = [await queueOf(briskClock, deaf), await queueOf(systemClock)]
  const popped = popping(here)
  // By now it sleeps, and not because the notifier has just begun to listen.
  await pinged
  await there.push([hint('untold')])
  expect(await popped).toEqual([{ job: 'thing.make', key: 'untold', fresh: true }])
})
