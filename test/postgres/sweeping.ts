// What tests of the sweep on a real Postgres stand on: a database of their own, apps that end with the test, and how long
// a job went without a sweep that succeeded.

import pg from 'pg'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type AppOptions, regrow, type WorkerHandle, type WorkOptions } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

export class Sweeping {
  readonly #pool: pg.Pool
  readonly #database: FreshDatabase
  readonly #apps: { app: App; ear: Ear; workers: WorkerHandle[] }[] = []

  private constructor(database: FreshDatabase) {
    this.#database = database
    this.#pool = new pg.Pool({ connectionString: database.url })
    // A database that is dropped ends what is still open.
    this.#pool.on('error', () => {})
  }

  static async open(name: string, tables: string): Promise<Sweeping> {
    const sweeping = new Sweeping(await freshDatabase(name))
    const { app } = sweeping.app()
    await operate(app).migrate()
    await sweeping.rest()
    await sweeping.query(tables)
    return sweeping
  }

  get url(): string {
    return this.#database.url
  }

  get ears(): readonly Ear[] {
    return this.#apps.map(({ ear }) => ear)
  }

  app(options: Partial<AppOptions> = {}): { app: App; ear: Ear } {
    const app = regrow({ store: postgres(this.url), log: false, ...options }) as App
    const ear = new Ear(app)
    this.#apps.push({ app, ear, workers: [] })
    return { app, ear }
  }

  /** A worker that is registered. */
  async work(app: App, options: WorkOptions = {}): Promise<WorkerHandle> {
    const worker = app.work(options)
    this.#apps.find((each) => each.app === app)?.workers.push(worker)
    await worker.ready
    return worker
  }

  /** Another session, for locks and open transactions. */
  async session(): Promise<pg.Client> {
    const session = new pg.Client({ connectionString: this.url })
    await session.connect()
    return session
  }

  async query<Row extends object>(text: string, params: unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(text, params)).rows
  }

  async number(text: string): Promise<number> {
    return Number((await this.#pool.query(text)).rows[0]?.n)
  }

  /** When sweeps of a job succeeded, whoever made them. */
  passes(job: string): number[] {
    return this.ears.flatMap((ear) => ear.times('sweep.passed', { job })).sort((a, b) => a - b)
  }

  /** The longest that a job went without a sweep that succeeded, between two moments. */
  gapMs(job: string, since: number, until = performance.now()): number {
    const moments = [since, ...this.passes(job).filter((at) => at > since && at < until), until]
    return Math.max(...moments.slice(1).map((at, i) => at - (moments[i] as number)))
  }

  /** Ends the workers and the apps of a test. */
  async rest(): Promise<void> {
    for (const { app, workers } of this.#apps.splice(0)) {
      await Promise.all(workers.map((worker) => worker.stop({ grace: 0 })))
      await app.close()
    }
  }

  async close(): Promise<void> {
    await this.rest()
    await this.#pool.end()
    await this.#database.drop()
  }
}
