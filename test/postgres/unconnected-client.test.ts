// A client of pg that was never connected answers nothing, for ever, and one that has ended never answers again. Given as a store or as a
// transaction, both are refused at once, with what to do.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { RegrowError, regrow } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase('unconnected')
})
afterAll(() => database.drop())

const made = () => new pg.Client({ connectionString: database.url })

async function ended(): Promise<pg.Client> {
  const client = made()
  await client.connect()
  await client.end()
  return client
}

async function unreachable(): Promise<pg.Client> {
  const client = new pg.Client({ host: '127.0.0.1', port: 1 })
  client.on('error', () => {})
  await client.connect().catch(() => {})
  return client
}

async function endedPool(): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: database.url })
  await pool.end()
  return pool
}

const error = (call: Promise<unknown>) => call.then(() => undefined).catch((thrown: unknown) => thrown)
const input = z.object({ to: z.string() })

const clients: [string, () => Promise<pg.Client>, says: RegExp, cure: RegExp][] = [
  ['was never connected', async () => made(), /was never connected/, /await client\.connect\(\)/],
  ['has ended', ended, /has ended/, /never connects again/],
  ['could not connect', unreachable, /has ended/, /never connects again/],
]

test.each(clients)('a store on a client that %s is refused at once', async (_, client, says, cure) => {
  const app = regrow({ store: postgres(await client()), log: false })
  const mail = app.job('mail.send', { input, run() {} })
  const worker = app.work()
  const ready = error(worker.ready)
  const calls = [
    () => operate(app).status(),
    () => mail.enqueue({ to: 'ann' }),
    () => app.transaction(async () => {}),
    () => ready,
  ]
  for (const call of calls) {
    const refused = (await call().catch((thrown: unknown) => thrown)) as RegrowError
    expect(refused).toBeInstanceOf(RegrowError)
    expect(refused).toMatchObject({ code: 'not_connected', message: expect.stringMatching(says) })
    expect(refused.hint).toMatch(cure)
  }
  await app.close()
})

test('a store on a pool that has ended is refused at once', async () => {
  const app = regrow({ store: postgres(await endedPool()), log: false })
  const refused = (await error(operate(app).status())) as RegrowError
  expect(refused).toMatchObject({ code: 'not_connected', message: expect.stringMatching(/pool .* has ended/i) })
  await app.close()
})

test.each(clients)('a `tx` on a client that %s is refused at once', async (_, client, says, cure) => {
  const app = regrow({ store: postgres(database.url), log: false })
  const mail = app.job('mail.send', { input })
  const refused = (await error(mail.enqueue({ to: 'ann' }, { tx: await client() }))) as RegrowError
  expect(refused).toMatchObject({ code: 'not_connected', message: expect.stringMatching(says) })
  expect(refused.message).toMatch(/`tx` of enqueue of "mail.send"/)
  expect(refused.hint).toMatch(cure)
  await app.close()
})

test('a `tx` that is open on another database is refused with a cure', async () => {
  const other = await freshDatabase('another')
  const client = new pg.Client({ connectionString: other.url })
  await client.connect()
  try {
    const app = regrow({ store: postgres(database.url), log: false })
    const mail = app.job('mail.send', { input })
    await client.query('begin')
    await expect(mail.enqueue({ to: 'ann' }, { tx: client })).rejects.toMatchObject({
      code: 'bad_options',
      message: expect.stringMatching(
        /`tx` of enqueue of "mail.send" is open on a database that has none of regrow's tables/,
      ),
      hint: expect.stringContaining('the database that the store is in'),
    })
    await client.query('rollback')
    await app.close()
  } finally {
    await client.end()
    await other.drop()
  }
})

test('a store whose client or pool ends while it is used says so from then on', async () => {
  const [client, pool] = [made(), new pg.Pool({ connectionString: database.url })]
  await client.connect()
  for (const given of [client, pool]) {
    const app = regrow({ store: postgres(given as pg.Pool), log: false })
    await operate(app).status()
    await given.end()
    expect(await error(operate(app).status())).toMatchObject({
      code: 'not_connected',
      message: expect.stringMatching(/has ended/),
    })
    expect(await error(app.transaction(async () => {}))).toMatchObject({ code: 'not_connected' })
    await app.close()
  }
})

test('a client that is still connecting is waited for', async () => {
  const client = made()
  const connecting = client.connect()
  const app = regrow({ store: postgres(client), log: false })
  await expect(operate(app).status()).resolves.toMatchObject({ jobs: [] })
  await connecting
  await app.close()
  await client.end()
})
