// What tests of faults of Postgres stand on: an app whose store and queue are one database, rows whose effects commit with their
// outcome, inputs that are settled in batches, and somebody at the server whom the fault does not reach.

import pg from 'pg'
import { expect } from 'vitest'
import { z } from 'zod'
import type { PostgresGiven } from '../../src/drivers/postgres/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, regrow, sql, type WorkerHandle } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { freshDatabase } from '../services/database.ts'

/** A database that the scene may break, and then drops. */
export interface Place {
  readonly url: string
  drop(): Promise<unknown>
}

export interface SceneOptions {
  /** What the app is given; defaults to the url. */
  readonly given?: (url: string) => PostgresGiven
  /** An hour leaves healing to what the fault itself sets off. Defaults to '1s'. */
  readonly every?: '1h' | '1s'
  readonly concurrency?: number
}

const lease = '2s'
/** For a machine that is busy otherwise. */
const patienceMs = 40_000

export class Scene {
  readonly app: App
  readonly ear: Ear
  readonly place: Place
  /** Connected before the fault, and not part of the app. */
  admin: pg.Client
  readonly worker: WorkerHandle
  readonly #make: { enqueueMany(keys: number[]): Promise<unknown> }
  readonly #note: { enqueue(note: number): Promise<unknown> }
  readonly #ran = new Set<number>()
  readonly #noted: number[] = []
  #rows = 0
  #notes = 0
  #gate: Promise<void> = Promise.resolve()
  #open = () => {}

  private constructor(place: Place, admin: pg.Client, { given, every = '1s', concurrency = 4 }: SceneOptions) {
    this.place = place
    this.admin = admin
    this.app = regrow({ store: postgres(given?.(place.url) ?? place.url), lease, log: false }) as App
    this.ear = new Ear(this.app)
    this.#make = this.app.job('thing.make', {
      key: 'int',
      pending: sql`select id from things where state = 'pending'`,
      sweep: { every },
      // A statement of the handler's own that the server refuses is its failure.
      retry: { delay: '500ms' },
      run: async (id, ctx) => {
        await this.#gate
        await ctx.tx(async (tx) => {
          await tx.query(`insert into effects values ($1)`, [id])
          await tx.query(`update things set state = 'done' where id = $1`, [id])
        })
      },
    })
    this.#note = this.app.job('note.write', {
      input: z.number(),
      sweep: { every },
      run: async (note) => {
        await this.#gate
        this.#ran.add(note)
      },
    })
    this.worker = this.app.work({ concurrency })
  }

  /** An app with a worker that has done some work; all of it ends with `act`. */
  static async play(place: Place | string, options: SceneOptions, act: (scene: Scene) => Promise<void>): Promise<void> {
    const database = typeof place === 'string' ? await freshDatabase(place) : place
    const admin = await connected(database.url)
    await admin.query(
      `create table things (id int primary key, state text not null default 'pending'); create table effects (id int not null)`,
    )
    const scene = new Scene(database, admin, options)
    try {
      await scene.worker.ready
      await scene.enqueue(8)
      await scene.allDone()
      await act(scene)
    } catch (error) {
      // Why it failed is told, not what else does not work any more.
      await scene.#close().catch(() => {})
      throw error
    }
    await scene.#close()
  }

  async #close(): Promise<void> {
    this.letGo()
    await this.worker.stop({ grace: '1s' })
    await this.app.close()
    await this.admin.end()
    await this.place.drop()
  }

  /** From now on the truth is there. */
  async moveTo(url: string): Promise<void> {
    await this.admin.end()
    this.admin = await connected(url)
  }

  async query<Row extends object = Record<string, unknown>>(text: string, params: unknown[] = []): Promise<Row[]> {
    return (await this.admin.query<Row>(text, params)).rows
  }

  /** Rows that nobody is told of. */
  async insert(count: number): Promise<number[]> {
    const from = this.#rows + 1
    this.#rows += count
    await this.query(`insert into things select generate_series($1::int, $2::int)`, [from, this.#rows])
    return Array.from({ length: count }, (_, i) => from + i)
  }

  /** Half of them rows with their hints, half of them inputs. */
  async enqueue(count: number): Promise<void> {
    const keys = await this.insert(count / 2)
    await Promise.all([this.#make.enqueueMany(keys), ...keys.map(() => this.note())])
  }

  /** An input; false: it was refused, and nobody may rely on it. */
  async note(): Promise<boolean> {
    const note = ++this.#notes
    try {
      await this.#note.enqueue(note)
      this.#noted.push(note)
      return true
    } catch {
      return false
    }
  }

  /** From now on handlers wait. */
  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  letGo(): void {
    this.#open()
  }

  /** Work that waits in every slot of the worker, and hints of more in the queue. */
  async holding(count: number): Promise<void> {
    const started = this.ear.of('job.started').length
    this.hold()
    await this.enqueue(count)
    await this.until(() => this.ear.of('job.started').length > started)
  }

  /** Resolves when `enough` holds; every event is a reason to look. */
  until(enough: () => boolean): Promise<void> {
    return this.ear.until(enough, patienceMs)
  }

  /** Asks the server, as somebody who is not part of the app, until it answers at least one row. */
  async found(text: string, params: unknown[] = []): Promise<Record<string, unknown>[]> {
    const end = performance.now() + patienceMs
    for (;;) {
      const rows = await this.query(text, params)
      if (rows.length > 0) return rows
      if (performance.now() > end) throw new Error(`not in ${patienceMs} ms: ${text}; last told:\n${this.ear}`)
      await this.query(`select pg_sleep(0.02)`)
    }
  }

  /** Ends the app's connections, or some of them, in the server; answers how many there were when all of them are gone. */
  async terminate(which = 'true'): Promise<number> {
    const rows = await this.query(`select pid, pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and (${which})`)
    await this.found(`select 1 where not exists (select 1 from pg_stat_activity where pid = any($1))`, [
      rows.map(({ pid }) => pid),
    ])
    return rows.length
  }

  /** Every row and every input that was ever taken has been done; a row has one effect (S4), and nobody is blamed for anything. */
  async allDone(): Promise<void> {
    await this.found(`select 1 where not exists (select 1 from things where state = 'pending')
      and not exists (select 1 from regrow.intents) and not exists (select 1 from regrow.ledger where holder is not null)`)
    const [effects] = await this.query(`select count(*)::int as n, count(distinct id)::int as keys from effects`)
    expect(effects).toEqual({ n: this.#rows, keys: this.#rows })
    expect(this.#noted.filter((note) => !this.#ran.has(note))).toEqual([])
    expect(await this.query(`select * from regrow.ledger where failures > 0 or crashes > 0`)).toEqual([])
    expect(this.ear.of('worker.gone')).toEqual([])
  }

  /** After the fault: new work goes through queue and worker as before it. */
  async goesOn(): Promise<void> {
    await this.until(() => this.ear.of('queue.down').length <= this.ear.of('queue.up').length)
    const queue = await operate(this.app).queue()
    expect(queue).toEqual({ name: 'postgres', shared: true })
    await this.enqueue(8)
    await this.allDone()
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return client
}
