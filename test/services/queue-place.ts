// A database of one's own with regrow's tables, and queues on it as processes would open them: what they send is seen, and
// time is the test's where it says so.
import pg from 'pg'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { type OpenDatabase, openDatabase } from '../../src/drivers/postgres/client/database.ts'
import { PostgresQueue, type PostgresQueueOptions } from '../../src/drivers/postgres/queue/postgres-queue.ts'
import { regrown } from '../../src/drivers/postgres/queue/recreate-missing-tables.ts'
import { sqlStore } from '../../src/drivers/postgres/store/store.ts'
import type { SqlExecutor } from '../../src/drivers/sql/client.ts'
import type { Store } from '../../src/store/store.ts'
import { type FreshDatabase, freshDatabase } from './database.ts'

/** A clock whose `now` stands still until the test moves it; everything else is real. */
export class StandingClock implements Clock {
  #now = 0
  readonly wall = systemClock.wall
  readonly sleep = systemClock.sleep
  readonly after = systemClock.after
  readonly gather = systemClock.gather

  now(): number {
    return this.#now
  }

  pass(ms: number): void {
    this.#now += ms
  }
}

export class QueuePlace {
  readonly database: FreshDatabase
  /** Somebody who is not part of regrow. */
  readonly beside: pg.Client
  readonly db: OpenDatabase
  readonly store: Store
  readonly #ends: (() => Promise<unknown>)[] = []

  constructor(database: FreshDatabase, beside: pg.Client, db: OpenDatabase) {
    this.database = database
    this.beside = beside
    this.db = db
    this.store = sqlStore(db, { exclusive: false }) as Store
  }

  static async open(name: string, tables = ''): Promise<QueuePlace> {
    const database = await freshDatabase(name)
    const beside = await connected(database.url)
    const db = await openDatabase(database.url, {}, { clock: systemClock, leaseMs: 15_000 })
    const place = new QueuePlace(database, beside, db)
    await place.store.migrate()
    if (tables) await beside.query(tables)
    return place
  }

  /** A queue without a bell, on this place's connections; `sends` stands between it and the server. */
  queue(
    options: Partial<PostgresQueueOptions> = {},
    sends: (db: SqlExecutor) => SqlExecutor = (db) => db,
  ): PostgresQueue {
    const queue = new PostgresQueue(regrown(sends(this.db.queue)), { pages: this.db, clock: systemClock, ...options })
    this.#ends.unshift(() => queue.close())
    return queue
  }

  /** What a queue empties its table with. */
  get rotates(): NonNullable<PostgresQueueOptions['rotates']> {
    return {
      transaction: (work) => this.db.transaction(work),
      query: (...args) => this.db.queue.query(...args),
    }
  }

  /** A connection of the test's, ended with the place. */
  async connect(url: string = this.database.url): Promise<pg.Client> {
    const client = await connected(url)
    this.#ends.push(() => client.end())
    return client
  }

  async rows<Row extends object = Record<string, unknown>>(text: string, params: unknown[] = []): Promise<Row[]> {
    return (await this.beside.query<Row>(text, params)).rows
  }

  async close(): Promise<void> {
    for (const end of this.#ends) await end()
    await this.db.close()
    await this.beside.end()
    await this.database.drop()
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Buffers that statements touch: each is run twice, first under EXPLAIN in a transaction that is rolled back. */
export class Buffers {
  readonly #client: pg.Client
  #touched: number | undefined

  constructor(client: pg.Client) {
    this.#client = client
  }

  /** Stands between regrow and the server. */
  beside(db: SqlExecutor): SqlExecutor {
    return {
      query: async (text, params = []) => {
        if (this.#touched !== undefined) this.#touched += await this.#explained(text, params)
        return db.query(text, params)
      },
    }
  }

  /** Buffers that everything touched that `work` sent. */
  async of(work: () => Promise<unknown>): Promise<number> {
    this.#touched = 0
    await work()
    const touched = this.#touched
    this.#touched = undefined
    return touched
  }

  async #explained(text: string, params: readonly unknown[]): Promise<number> {
    await this.#client.query('begin')
    try {
      await this.#client.query(`set local enable_seqscan = off; set local jit = off`)
      const { rows } = await this.#client.query(`explain (analyze, buffers, format json) ${text}`, [...params])
      const { Plan: plan } = rows[0]['QUERY PLAN'][0] as { Plan: Record<string, number> }
      return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
    } finally {
      await this.#client.query('rollback')
    }
  }
}
