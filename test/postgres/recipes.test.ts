// The recipes of docs/handlers.md, on a real Postgres: a row that several change is locked inside ctx.tx, and a call outside
// happens once though the run that makes it happens twice.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, type Transaction } from '../../src/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let client: pg.Client

beforeAll(async () => {
  database = await freshDatabase('recipes')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const query = async (text: string) => (await client.query(text)).rows

/** Asks the database until the answer has rows. */
async function until(text: string): Promise<void> {
  while ((await query(text)).length === 0) await query(`select pg_sleep(0.05)`)
}

describe('a row that several change', () => {
  beforeAll(() =>
    query(`
      create table accounts (id int primary key, balance int not null);
      create table payments (id int primary key, amount int not null, booked boolean not null default false);
      create table fees (id int primary key, amount int not null, booked boolean not null default false)`),
  )
  afterEach(() => query(`truncate accounts, payments, fees`))

  /** Resolves when the other one has read, too, or waits for the row's lock. */
  async function othersTurn(reads: readonly string[]): Promise<void> {
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    while (reads.length < 2 && (await query(waiting)).length === 0) await query(`select pg_sleep(0.02)`)
  }

  /** Two jobs and a web process, all of which add to a balance: read, reckon, write. */
  function bank(lock: '' | 'for update') {
    const reads: string[] = []
    const add = async (tx: Transaction, who: string, amount: number) => {
      const { rows } = await tx.query(`select balance from accounts where id = 1 ${lock}`)
      reads.push(who)
      await othersTurn(reads)
      await tx.query(`update accounts set balance = $1 where id = 1`, [Number(rows[0]?.balance) + amount])
    }
    const app = regrow({ store: postgres(database.url) })
    const book = (table: 'payments' | 'fees') =>
      app.job(`${table}.book`, {
        key: 'int',
        pending: { text: `select id from ${table} where not booked`, values: [] },
        sweep: { every: '1s' },
        run: (id, ctx) =>
          ctx.tx(async (tx) => {
            const { rows } = await tx.query(`update ${table} set booked = true where id = $1 returning amount`, [id])
            await add(tx, table, Number(rows[0]?.amount))
          }),
      })
    book('payments')
    book('fees')
    return { app, ear: new Ear(app), reads, web: (amount: number) => app.transaction((tx) => add(tx, 'web', amount)) }
  }
  const balance = async () => (await query(`select balance from accounts`))[0]?.balance

  test.each([
    ['without a lock one of two jobs overwrites what the other wrote', '', [100 - 1, 100 + 20]],
    ['with select … for update inside ctx.tx the second waits for the first, and both count', 'for update', [119]],
  ] as const)('%s', async (_, lock, outcomes) => {
    const { app, ear, reads } = bank(lock)
    await query(`insert into accounts values (1, 100)`)
    await query(`insert into payments values (1, 20)`)
    await query(`insert into fees values (1, -1)`)
    const worker = app.work()
    await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 2)
    await worker.stop()
    await app.close()
    expect(reads.toSorted()).toEqual(['fees', 'payments'])
    expect(ear.of('job.settled').filter(({ error }) => error !== null)).toEqual([])
    expect(outcomes).toContain(await balance())
  })

  test.each([
    ['without a lock a job and a web request overwrite each other', '', [100 + 20, 100 + 300]],
    ['with the lock in both a job and a web request both count', 'for update', [420]],
  ] as const)('%s', async (_, lock, outcomes) => {
    const { app, ear, reads, web } = bank(lock)
    await query(`insert into accounts values (1, 100)`)
    await query(`insert into payments values (1, 20)`)
    const worker = app.work()
    await Promise.all([web(300), ear.hears('job.settled', { job: 'payments.book', state: 'done' })])
    await worker.stop()
    await app.close()
    expect(reads.toSorted()).toEqual(['payments', 'web'])
    expect(outcomes).toContain(await balance())
  })
})

describe('a call outside with ctx.idempotencyKey', () => {
  /** A provider that acts once per key and remembers what it answered. */
  class Provider {
    readonly requests: string[] = []
    readonly receipts = new Map<string, string>()
    /** What befalls the first reply, after the provider has acted. */
    fate: 'lost' | (() => void) = 'lost'
    readonly #server: Server = createServer((request, response) => {
      const key = String(request.headers['idempotency-key'])
      this.requests.push(key)
      const receipt = this.receipts.get(key) ?? `receipt ${this.receipts.size + 1}`
      this.receipts.set(key, receipt)
      if (this.requests.length > 1) return response.end(receipt)
      if (this.fate === 'lost') return request.socket.destroy()
      return this.fate()
    })

    async open(): Promise<string> {
      this.#server.listen(0, '127.0.0.1')
      await once(this.#server, 'listening')
      return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    }

    close(): void {
      this.#server.closeAllConnections()
      this.#server.close()
    }
  }

  const script = fileURLToPath(new URL('../processes/charge-worker.ts', import.meta.url))
  const children: ChildProcess[] = []
  let provider: Provider
  let address: string

  function worker(): ChildProcess {
    const child = fork(script, {
      execArgv: ['--import', 'jiti/register'],
      env: { ...process.env, DATABASE_URL: database.url, PROVIDER_URL: address },
    })
    children.push(child)
    return child
  }

  beforeAll(async () => {
    await query(`
      create table subscriptions (id int primary key, paid_until date not null);
      create table receipts (subscription int not null, receipt text not null, attempt int not null)`)
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    provider.close()
    await query(`truncate subscriptions, receipts, regrow.ledger, regrow.hints, regrow.workers, regrow.sweeps`)
  })

  async function opened(fate: Provider['fate']): Promise<void> {
    provider = new Provider()
    provider.fate = fate
    address = await provider.open()
    await query(`insert into subscriptions values (1, '2030-01-10')`)
  }
  const [january, february] = ['subscription.renew/1/2030-01-10', 'subscription.renew/1/2030-02-10']

  /** January is asked for twice and taken once; February, another version, is taken for itself. */
  async function expectTwoMonths(): Promise<void> {
    await until(`select 1 from subscriptions where paid_until = '2030-03-10'`)
    expect(provider.requests).toEqual([january, january, february])
    expect([...provider.receipts.keys()]).toEqual([january, february])
    expect(await query(`select receipt, attempt from receipts order by receipt`)).toEqual([
      { receipt: 'receipt 1', attempt: 2 },
      { receipt: 'receipt 2', attempt: 1 },
    ])
  }

  test('whose reply is lost: the second attempt has the same key, the provider acts once; a new version is a new key', async () => {
    await opened('lost')
    worker()
    await expectTwoMonths()
  }, 120_000)

  test('whose worker is killed before ctx.tx: another one calls with the same key, the provider acts once; a new version is a new key', async () => {
    await opened(() => void first.kill('SIGKILL'))
    const first = worker()
    await once(first, 'exit')
    expect(provider.requests).toEqual([january])
    worker()
    await expectTwoMonths()
  }, 120_000)
})
