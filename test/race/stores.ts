// Several stores on one database, each with connections of its own, and ways to hold a statement in the middle:
// `regrow.clock()` of a gated store waits until the gate opens, after the statement's snapshot was taken.
import pg from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import type { Claim, SettleRow } from '../../src/store/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

export const leaseMs = 10_000
const gateNumber = 4_711

export class Stores {
  readonly #database: FreshDatabase
  readonly #opened: { close(): Promise<unknown> }[] = []
  readonly #beside: pg.Client

  private constructor(database: FreshDatabase, beside: pg.Client) {
    this.#database = database
    this.#beside = beside
  }

  /** A migrated database of one's own. */
  static async open(name: string): Promise<Stores> {
    const database = await freshDatabase(name)
    const beside = new pg.Client({ connectionString: database.url })
    await beside.connect()
    const stores = new Stores(database, beside)
    await (await stores.store()).migrate()
    await beside.query(`create or replace function regrow.clock() returns timestamptz language plpgsql volatile as $$
      begin
        if current_setting('race.gate', true) = 'here' then perform pg_advisory_xact_lock_shared(${gateNumber}); end if;
        return clock_timestamp();
      end $$`)
    return stores
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((each) => each.close()))
    await this.#beside.end()
    await this.#database.drop()
  }

  /** Where it is. */
  get url(): string {
    return this.#database.url
  }

  /** One more process's store. */
  async store(given: string | pg.Client = this.#database.url): Promise<Store> {
    const { store } = await postgres(given).open({ clock: systemClock, leaseMs: 15_000 })
    this.#opened.push(store)
    return store
  }

  many(count: number): Promise<Store[]> {
    return Promise.all(Array.from({ length: count }, () => this.store()))
  }

  /** A client whose end is looked after; deadlocks are seen after 20 ms instead of a second. */
  async client(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#database.url })
    await client.connect()
    await client.query(`set deadlock_timeout = '20ms'`)
    this.#opened.push({ close: () => client.end() })
    return client
  }

  async query(text: string, params: unknown[] = []): Promise<Record<string, unknown>[]> {
    return (await this.#beside.query(text, params)).rows
  }

  /** Begins `statement` and holds it after its snapshot; `meanwhile` happens, then it goes on. */
  async held<T>(statement: (store: Store) => Promise<T>, meanwhile: () => Promise<void>): Promise<T> {
    const client = await this.client()
    const store = await this.store(client)
    await client.query(`set race.gate = 'here'`)
    const { rows } = await client.query('select pg_backend_pid() as pid')
    await this.query('select pg_advisory_lock($1)', [gateNumber])
    const running = statement(store)
    try {
      await this.blocked(rows[0].pid)
      await meanwhile()
    } finally {
      await this.query('select pg_advisory_unlock($1)', [gateNumber])
    }
    return running
  }

  /** Resolves when that backend waits for a lock. */
  async blocked(pid: number): Promise<void> {
    for (;;) {
      const [row] = await this.query('select cardinality(pg_blocking_pids($1)) > 0 as waits', [pid])
      if (row?.waits === true) return
    }
  }

  /** Registered, and beating now. */
  async worker(holder: string): Promise<string> {
    const [store] = this.#opened as unknown as [Store]
    await store.workers.register({ holder, host: 'host', pid: 1, jobs: {} }, leaseMs)
    await this.query(`update regrow.pulse set beat_at = clock_timestamp(), grace_until = '-infinity'`)
    return holder
  }

  /** That worker has been silent for an hour, while others beat. */
  async dies(holder: string): Promise<void> {
    await this.query(`update regrow.workers set beat_at = clock_timestamp() - interval '1 hour' where id = $1`, [
      holder,
    ])
    await this.query(`update regrow.pulse set beat_at = clock_timestamp(), grace_until = '-infinity'`)
  }

  /** What the ledger holds of a key. */
  async row(key: string): Promise<Record<string, unknown> | undefined> {
    const [row] = await this.query(
      'select holder, take::int, failures, crashes, state from regrow.ledger where key = $1',
      [key],
    )
    return row
  }
}

let takes = 0
/** Claims of job `a` with take numbers that nobody used before. */
export const claims = (keys: readonly string[], job = 'a'): Claim[] => keys.map((key) => ({ job, key, take: ++takes }))

/** Outcomes of claims: successes where nothing else is said. */
export const outcomes = (list: readonly Claim[], how: Partial<SettleRow> = {}): SettleRow[] =>
  list.map((claim) => ({
    ...claim,
    state: 'done',
    version: null,
    failures: 0,
    crashes: 0,
    retryMs: 0,
    error: null,
    finish: null,
    ...how,
  }))

/** Those of the claims that were granted. */
export async function granted(store: Store, holder: string, list: readonly Claim[]): Promise<Claim[]> {
  const answers = await store.ledger.take(holder, list)
  const taken = new Set(answers.filter(({ verdict }) => verdict === 'taken').map(({ job, key }) => `${job} ${key}`))
  return list.filter(({ job, key }) => taken.has(`${job} ${key}`))
}

/** `count` keys `k0`, `k1`, … */
export const keys = (count: number, prefix = 'k'): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`)
