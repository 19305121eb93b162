// What tests of faults of Redis stand on: an app on Postgres whose queue is a real Redis, rows whose effects are counted, and
// a gate before the handlers, so that hints are in the queue when the fault hits it.

import pg from 'pg'
import { expect } from 'vitest'
import type { QueueDriver } from '../../src/drivers/driver.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { type App, type AppOptions, type EventMap, regrow, sql, type WorkerHandle } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { type RedisServer, startRedis } from '../../tools/services/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

/** Handler calls at a time: so many keys are out of the queue while the gate is shut. */
const concurrency = 4

export interface SceneOptions {
  /** An hour leaves healing to what the fault itself sets off. Defaults to '1s'. */
  every?: '1h' | '1s'
  jobs?: readonly string[]
  lease?: AppOptions['lease']
}

export class Scene {
  readonly app: App
  readonly ear: Ear
  readonly jobs: readonly string[]
  readonly database: FreshDatabase
  /** From now on the first attempt of each key fails. */
  failsFirst = false
  readonly #pool: pg.Pool
  readonly #enqueue = new Map<string, (keys: string[]) => Promise<unknown>>()
  #worker: WorkerHandle | undefined
  #queue: Queue | undefined
  #rows = 0
  #failed = 0
  #open = () => {}
  #gate: Promise<void> = Promise.resolve()

  private constructor(database: FreshDatabase, queue: QueueDriver, options: SceneOptions) {
    this.database = database
    this.jobs = options.jobs ?? ['thing.make']
    this.#pool = new pg.Pool({ connectionString: database.url, max: 2 })
    // A database that is dropped ends what is still open.
    this.#pool.on('error', () => {})
    // A connection that is still closing when the database is dropped is told so.
    this.#pool.on('error', () => {})
    // The queue that the app talks to, past the memory that stands in for it.
    const seen: QueueDriver = {
      ...queue,
      open: async (around) => {
        this.#queue = await queue.open(around)
        return this.#queue
      },
    }
    this.app = regrow({ store: postgres(database.url), queue: seen, lease: options.lease ?? '2s', log: false }) as App
    this.ear = new Ear(this.app)
    for (const name of this.jobs) this.#declare(name, options.every ?? '1s')
  }

  /** An app with a registered worker, and some rows that were done through that queue. */
  static async open(name: string, queue: QueueDriver, options: SceneOptions = {}): Promise<Scene> {
    const scene = await Scene.begin(await freshDatabase(name), queue, options)
    try {
      await scene.usesQueue()
      return scene
    } catch (error) {
      await scene.close()
      throw error
    }
  }

  /** An app with a registered worker. */
  static async begin(database: FreshDatabase, queue: QueueDriver, options: SceneOptions = {}): Promise<Scene> {
    const scene = new Scene(database, queue, options)
    await scene.query(`
      create table things (job text not null, id text not null, state text not null default 'pending', primary key (job, id));
      create table effects (job text not null, id text not null, at timestamptz not null default clock_timestamp())`)
    scene.#worker = scene.app.work({ concurrency })
    await scene.#worker.ready
    return scene
  }

  #declare(name: string, every: '1h' | '1s'): void {
    const job = this.app.job(name, {
      key: 'text',
      pending: sql`select id from things where job = ${name} and state = 'pending'`,
      sweep: { every },
      retry: { delay: '4s' },
      run: async (id, ctx) => {
        await this.#gate
        if (this.failsFirst && ctx.attempt === 1) {
          this.#failed++
          throw new Error('not at the first attempt')
        }
        await ctx.tx(async (tx) => {
          await tx.query(`insert into effects (job, id) values ($1, $2)`, [name, id])
          await tx.query(`update things set state = 'done' where job = $1 and id = $2`, [name, id])
        })
      },
    })
    this.#enqueue.set(name, (keys) => job.enqueueMany(keys))
  }

  /** Resolves when an event of that name that matches was told, or will have been. */
  async hears<Name extends keyof EventMap>(event: Name, match: Partial<EventMap[Name]> = {}): Promise<void> {
    await this.until(() => this.ear.of(event, match).length > 0)
  }

  /** Resolves when `enough` holds; every event is a reason to look. The patience is for a machine that is busy otherwise. */
  until(enough: () => boolean): Promise<void> {
    return this.ear.until(enough, 45_000)
  }

  async query<Row extends object>(text: string, params: unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(text, params)).rows
  }

  /** New rows of every job, that many in all; nobody is told of them. */
  async insert(rows: number): Promise<Map<string, string[]>> {
    const keys = Array.from({ length: rows }, () => `key-${String(++this.#rows).padStart(6, '0')}`)
    const byJob = new Map(this.jobs.map((job, n) => [job, keys.filter((_, i) => i % this.jobs.length === n)]))
    for (const [job, ids] of byJob)
      await this.query(`insert into things (job, id) select $1, unnest($2::text[])`, [job, ids])
    return byJob
  }

  /** New rows, and their hints. */
  async enqueue(rows: number): Promise<void> {
    for (const [job, keys] of await this.insert(rows)) await this.#enqueue.get(job)?.(keys)
  }

  /** From now on handlers wait at the gate. */
  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  letGo(): void {
    this.#open()
  }

  /** Rows whose handlers wait at the gate in every slot, and whose other hints are in Redis. */
  async holding(rows: number): Promise<void> {
    const started = this.ear.of('job.started').length
    this.hold()
    await this.enqueue(rows)
    await this.until(() => this.ear.of('job.started').length >= started + Math.min(rows, concurrency))
    expect(await this.hints()).toBeGreaterThan(0)
  }

  /** Hints in Redis itself, due or delayed. */
  async hints(): Promise<number> {
    const counts = await (this.#queue as Queue).count(this.jobs)
    return [...counts.values()].reduce((sum, { due, delayed }) => sum + due + delayed, 0)
  }

  /** Hints go through Redis now, and come out of it. */
  async usesQueue(): Promise<void> {
    expect(await operate(this.app).queue()).toEqual({ name: expect.stringMatching(/^redis/), shared: true })
    await this.holding(concurrency * 3)
    this.letGo()
    await this.allDone()
  }

  /** Every row that there ever was is done, has one effect, and was started as often as it had to be. */
  async allDone(): Promise<void> {
    await this.until(() => this.done() >= this.#rows)
    const [found] = await this.query(`select count(*)::int as effects, count(distinct (job, id))::int as keys,
      (select count(*)::int from things where state = 'pending') as pending from effects`)
    expect(found).toEqual({ effects: this.#rows, keys: this.#rows, pending: 0 })
    expect(this.ear.of('job.started')).toHaveLength(this.#rows + this.#failed)
    expect([...this.ear.of('job.lease_lost'), ...this.ear.of('worker.gone')]).toEqual([])
  }

  /** How many runs have succeeded. */
  done(): number {
    return this.ear.of('job.settled', { state: 'done' }).length
  }

  /**
   * The canary has been raised past what it is now, in the queue and in the store. Twice: the queue's may be one ahead of the
   * store's copy, which then only catches up.
   */
  async markMoved(): Promise<void> {
    const sequence = async () =>
      Number((await this.query<{ n: string }>(`select max(sequence) as n from regrow.marks`))[0]?.n)
    const before = await sequence()
    while ((await sequence()) < before + 2) await this.query(`select pg_sleep(0.05)`)
  }

  async close(): Promise<void> {
    this.letGo()
    await this.#worker?.stop({ grace: '1s' })
    await this.app.close()
    await this.#pool.end()
    await this.database.drop()
  }
}

/** A scene on a server of its own; both end with the test. */
export async function onRedis(
  name: string,
  {
    settings,
    queue = redis,
    ...options
  }: SceneOptions & {
    settings?: Record<string, string | number>
    queue?: (url: string) => QueueDriver
  },
  act: (scene: Scene, server: RedisServer) => Promise<void>,
): Promise<void> {
  const server = await startRedis(settings ? { settings } : {})
  let scene: Scene | undefined
  try {
    scene = await Scene.open(name, queue(server.url()), options)
    await act(scene, server)
  } finally {
    await server.resume()
    await scene?.close()
    await server.close()
  }
}
