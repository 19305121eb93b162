// Starts worker processes for tests on a database of their own, hears what they tell, and ends them with the test.
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

export interface FleetSettings {
  readonly url: string
  readonly mode: 'many' | 'hold' | 'one' | 'poison'
  readonly pool: number
  readonly concurrency?: number
  readonly lease?: `${number}s`
  /** The event loop stands still when the first check was answered, or in the first handler, until this file is there. */
  readonly block?: { readonly at: 'check' | 'handler'; readonly until: string }
}

export type Told = Record<string, unknown>

/** Its settings are the first argument; a process or a thread. */
export const fleetScript = fileURLToPath(new URL('./fleet-worker.ts', import.meta.url))

export class WorkerProcess {
  readonly child: ChildProcess
  readonly told: Told[] = []
  readonly #listeners = new Set<() => void>()

  constructor(settings: FleetSettings) {
    this.child = fork(fleetScript, [JSON.stringify(settings)], {
      execArgv: ['--import', 'jiti/register'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.child.on('message', (message) => {
      this.told.push(message as Told)
      for (const listener of this.#listeners) listener()
    })
  }

  /** Resolves when `enough` holds for what was told so far. */
  async hears(enough: (told: readonly Told[]) => boolean): Promise<void> {
    if (enough(this.told)) return
    await new Promise<void>((resolve) => {
      const look = () => {
        if (!enough(this.told)) return
        this.#listeners.delete(look)
        resolve()
      }
      this.#listeners.add(look)
    })
  }

  ready(): Promise<void> {
    return this.hears((told) => told.some(({ ready }) => ready))
  }

  started(): string[] {
    return this.told.flatMap(({ started }) => (started ? [String(started)] : []))
  }

  signal(name: NodeJS.Signals): void {
    if (this.child.pid) process.kill(this.child.pid, name)
  }

  /** A graceful stop; returns how many statements it sent in its life. */
  async stop(): Promise<number> {
    this.child.send('stop')
    await this.hears((told) => told.some(({ statements }) => statements !== undefined))
    return Number(this.told.find(({ statements }) => statements !== undefined)?.statements)
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }
}

/** The tables of the fleet's job. */
export const fleetTables = `
  create table rows (id bigint primary key, state text not null);
  create index on rows (id) where state = 'pending';
  create table tried (id bigint primary key);
  create table effects (id bigint not null);
`

/** A database with the tables of the fleet's job, and the processes that work on it. */
export class Fleet {
  readonly client: pg.Client
  readonly #database: FreshDatabase
  readonly #workers: WorkerProcess[] = []

  private constructor(database: FreshDatabase, client: pg.Client) {
    this.#database = database
    this.client = client
  }

  static async open(name: string): Promise<Fleet> {
    const database = await freshDatabase(name)
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(fleetTables)
    return new Fleet(database, client)
  }

  get url(): string {
    return this.#database.url
  }

  start(settings: Omit<FleetSettings, 'url'>): WorkerProcess {
    const worker = new WorkerProcess({ url: this.#database.url, ...settings })
    this.#workers.push(worker)
    return worker
  }

  async fill(count: number): Promise<void> {
    await this.client.query(`insert into rows select n, 'pending' from generate_series(1, ${count}) n`)
  }

  async number(text: string): Promise<number> {
    return Number((await this.client.query(text)).rows[0]?.n)
  }

  pending(): Promise<number> {
    return this.number(`select count(*) as n from rows where state = 'pending'`)
  }

  /** Asks the database until nothing is pending. */
  async allDone(): Promise<void> {
    while ((await this.pending()) > 0) await this.client.query(`select pg_sleep(0.05)`)
  }

  /** Effects, and keys that have one: equal when none was doubled. */
  async effects(): Promise<{ all: number; keys: number }> {
    const { rows } = await this.client.query(
      `select count(*)::int as all, count(distinct id)::int as keys from effects`,
    )
    return rows[0]
  }

  /** Ends the processes and empties the tables, regrow's too where they are. */
  async clear(): Promise<void> {
    for (const worker of this.#workers.splice(0)) worker.kill()
    await this.client.query(`truncate rows, tried, effects`)
    await this.client.query(`do $$ begin
      if to_regclass('regrow.hints') is not null then truncate regrow.ledger, regrow.hints, regrow.workers, regrow.sweeps; end if;
    end $$`)
  }

  async close(): Promise<void> {
    for (const worker of this.#workers.splice(0)) worker.kill()
    await this.client.end()
    await this.#database.drop()
  }
}
