// A server that accepts connections and says nothing, or falls silent: the app that is closed does not wait for it.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openDatabase } from '../../src/drivers/postgres/client/database.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { startProxy, type TcpProxy } from '../services/proxy.ts'

/** Far below the ten seconds that a connection may take to be made. */
const closedMs = 4_000

let database: FreshDatabase
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  database = await freshDatabase('close_silent')
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await operate(regrow({ store: postgres(admin) })).migrate()
  await admin.end()
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  await database.drop()
})

async function behindProxy(): Promise<{ proxy: TcpProxy; url: string }> {
  const url = new URL(database.url)
  const proxy = await startProxy(Number(url.port))
  ends.push(() => proxy.close())
  url.port = String(proxy.port)
  return { proxy, url: url.href }
}

async function msOf(work: Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work
  return performance.now() - from
}

test.each([
  ['an address', (url: string) => url],
  ['a function', (url: string) => () => url],
  ['a function that never answers', (url: string) => () => new Promise<string>(() => void url)],
] as const)('connections that are still being made do not hold up the close, given %s', async (what, given) => {
  const { proxy, url } = await behindProxy()
  proxy.swallow()
  const app = regrow({ store: postgres(given(url)), log: false })
  const ready = app.work().ready.catch((error: unknown) => error)
  if (!what.includes('never')) await expect.poll(() => proxy.connections()).toBeGreaterThan(0)
  expect(await msOf(app.close())).toBeLessThan(closedMs)
  expect(await ready).toMatchObject({ code: 'closed' })
})

test('what waits for a connection fails when the store is closed', async () => {
  const { proxy, url } = await behindProxy()
  proxy.swallow()
  const opened = await openDatabase(url, {}, { clock: systemClock, leaseMs: 10_000 })
  const waiting = opened.query('select 1').catch((error: unknown) => error)
  expect(await msOf(opened.close())).toBeLessThan(closedMs)
  expect(await waiting).toBeInstanceOf(Error)
})

test('a transaction that goes on is waited for', async () => {
  const opened = await openDatabase(database.url, {}, { clock: systemClock, leaseMs: 10_000 })
  const answer = opened.transaction(async (tx) => (await tx.query('select pg_sleep(1.5), 1 as one')).rows)
  await opened.query('select 1')
  await opened.close()
  expect(await answer).toMatchObject([{ one: 1 }])
})
