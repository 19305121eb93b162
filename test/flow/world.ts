// What flow tests stand on: an ear for every event of an app, and a world on one PGlite whose time is the test's own.
// Virtual time passes only while nothing is under way; the store's clock is driven with it. Nothing here sleeps.
import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, inject } from 'vitest'
import { loadDrain, loadOperator, loadWorker } from '../../src/app/on-demand.ts'
import { compose } from '../../src/app/regrow.ts'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import type { App, AppOptions, EventMap, WorkerHandle, WorkOptions } from '../../src/index.ts'
import type { QueueBounds } from '../../src/queue/hint.ts'
import { MemoryQueue } from '../../src/queue/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { seededRandom } from '../sim/seeded-random.ts'
import { VirtualClock } from '../sim/virtual-clock.ts'

/** Hears every event of an app. */
export class Ear {
  readonly told: { event: string; detail: object; at: number }[] = []
  readonly #waiting = new Set<() => void>()

  constructor(app: App, now: () => number = () => performance.now()) {
    app.on('*', (detail, event) => {
      this.told.push({ event, detail, at: now() })
      for (const wake of this.#waiting) wake()
    })
  }

  /** Events of that name whose details match. */
  of<Name extends keyof EventMap>(event: Name, match: Partial<EventMap[Name]> = {}): EventMap[Name][] {
    return this.#matching(event, match).map(({ detail }) => detail as EventMap[Name])
  }

  /** When events of that name that match were told. */
  times<Name extends keyof EventMap>(event: Name, match: Partial<EventMap[Name]> = {}): number[] {
    return this.#matching(event, match).map(({ at }) => at)
  }

  /** Real time: resolves when `enough` holds; fails after `withinMs` with what was told last. */
  async until(enough: () => boolean, withinMs = 20_000): Promise<void> {
    if (enough()) return
    await new Promise<void>((resolve, reject) => {
      const end = (finish: () => void) => {
        clearTimeout(timer)
        this.#waiting.delete(look)
        finish()
      }
      const look = () => enough() && end(resolve)
      const timer = setTimeout(
        () => end(() => reject(new Error(`not in ${withinMs} ms; last told:\n${this}`))),
        withinMs,
      )
      this.#waiting.add(look)
    })
  }

  /** Real time: resolves with the first event of that name that matches, past or to come. */
  async hears<Name extends keyof EventMap>(event: Name, match: Partial<EventMap[Name]> = {}): Promise<EventMap[Name]> {
    await this.until(() => this.of(event, match).length > 0)
    return this.of(event, match)[0] as EventMap[Name]
  }

  toString(): string {
    return this.told
      .slice(-30)
      .map(({ event, detail, at }) => `${Math.round(at)} ${event} ${JSON.stringify(detail, readable)}`)
      .join('\n')
  }

  #matching(event: string, match: object) {
    return this.told.filter(
      (told) =>
        told.event === event &&
        Object.entries(match).every(([name, value]) => isDeepStrictEqual(Reflect.get(told.detail, name), value)),
    )
  }
}

const readable = (_: string, value: unknown) => (value instanceof Error ? value.message : value)

/** A migrated PGlite with tables of the test's own. Its clock is real until a World sets it. */
export async function openPglite(tables: string): Promise<PGlite> {
  const db = new PGlite({ loadDataDir: new Blob([await readFile(inject('pgliteImage'))]) })
  await db.exec(`
    create or replace function regrow.clock() returns timestamptz language sql volatile as $$
      select coalesce(
        timestamptz '2026-01-01 00:00:00+00' + make_interval(secs => nullif(current_setting('sim.now', true), '')::float8 / 1000),
        clock_timestamp())
    $$;
    ${tables}`)
  return db
}

const own = `regrow.ledger, regrow.workers, regrow.sweeps, regrow.intents, regrow.pauses, regrow.audit, regrow.marks, regrow.heals, regrow.schedules, regrow.slots`

/** Empties regrow's tables and those named; the store's clock is real again. */
export async function reset(db: PGlite, ...tables: string[]): Promise<void> {
  await db.exec(`
    select set_config('sim.now', '', false);
    truncate ${[own, ...tables].join(', ')};
    update regrow.pulse set beat_at = '-infinity', grace_until = '-infinity', audit_at = '-infinity'`)
}

/** One history on a PGlite: apps that share a clock of its own, at 0 ms when it begins. */
export class World {
  #clock = new VirtualClock()
  #db: PGlite | undefined
  /** What the environment says; outside production the start of a worker makes all its sweeps due. */
  production = true
  #ears: Ear[] = []
  #seed = 1
  /** When the last worker was ready and had made its first rounds: the zero of what ears tell. */
  #zero = 0

  static async begin(db: PGlite, ...tables: string[]): Promise<World> {
    const world = new World()
    await world.begin(db, ...tables)
    return world
  }

  /** Empties the tables, and begins another history at 0 ms. */
  async begin(db: PGlite, ...tables: string[]): Promise<void> {
    // Loading takes real time, in which no virtual time passes: a world that waits for it would be at its end.
    await Promise.all([loadWorker(), loadDrain(), loadOperator(), reset(db, ...tables)])
    this.#db = db
    this.#clock = new VirtualClock()
    this.#ears = []
    this.#seed = 1
    this.#zero = 0
    this.production = true
    await this.#moved(0)
  }

  get clock(): VirtualClock {
    return this.#clock
  }

  get db(): PGlite {
    if (!this.#db) throw new Error('the world begins with the first test')
    return this.#db
  }

  /** A queue whose clock is this world's; given to several apps it is the queue they share, like a server beside them. */
  queue(bounds: Partial<QueueBounds> = {}, { shared = true } = {}): MemoryQueue {
    return Object.defineProperty(new MemoryQueue(this.clock, bounds), 'shared', { value: shared })
  }

  /** An app in this world, with a queue of its own unless one is given. */
  app(options: Partial<AppOptions> = {}, queue = this.queue()) {
    const app = compose(
      {
        store: this.store(),
        queue: { kind: 'queue', name: 'memory', open: async () => queue },
        log: false,
        ...options,
      },
      { clock: this.clock, random: seededRandom(this.#seed++), isProduction: () => this.production },
    )
    const ear = new Ear(app, () => this.clock.now() - this.#zero)
    this.#ears.push(ear)
    return { app, queue, ear }
  }

  /** A worker that has made its first rounds: its first sweep is over, and it waits for hints. */
  async work(app: App, options: WorkOptions = {}): Promise<WorkerHandle> {
    const worker = app.work(options)
    await this.over(worker.ready)
    await this.pass(100)
    this.#zero = this.clock.now()
    return worker
  }

  /** A statement during which no time passes, also from inside a handler. */
  async query<Row = Record<string, unknown>>(text: string, params: unknown[] = []): Promise<Row[]> {
    return (await this.clock.during(this.db.query<Row>(text, params))).rows
  }

  /** Lets time pass until `done` holds; fails after `limitMs` of it with what was told last. */
  async until(done: () => boolean | Promise<boolean>, limitMs = 120_000): Promise<void> {
    const reached = await this.clock.run(
      async () => done(),
      limitMs,
      (now) => this.#moved(now),
    )
    if (!reached) throw new Error(`not in ${limitMs} ms of virtual time; last told:\n${this.#ears.join('\n--\n')}`)
  }

  /** Lets time pass until a promise is settled, and answers it. */
  async over<T>(promise: Promise<T>, limitMs = 120_000): Promise<T> {
    let settled = false
    const mark = () => {
      settled = true
    }
    promise.then(mark, mark)
    await this.until(() => settled, limitMs)
    return promise
  }

  pass(ms: number): Promise<void> {
    return this.clock.pass(ms, (now) => this.#moved(now))
  }

  async #moved(now: number): Promise<void> {
    await this.db.query(`select set_config('sim.now', $1, false)`, [String(now)])
  }

  /** PGlite's store, during whose calls no time passes. */
  store(): StoreDriver {
    const driver = pglite(this.db)
    const { clock } = this
    const timeless = <T extends object>(port: T): T =>
      new Proxy(port, {
        get: (target, name) => {
          const value = Reflect.get(target, name)
          return typeof value !== 'function'
            ? value
            : (...args: unknown[]) => clock.during(Promise.resolve(value.apply(target, args)))
        },
      })
    return {
      ...driver,
      open: async (around) => {
        const { store, defaultQueue } = await clock.during(driver.open(around))
        const ports = Object.entries(store).map(([name, value]) => [
          name,
          typeof value === 'object' ? timeless(value as object) : value,
        ])
        const wrapped: Store = {
          ...(Object.fromEntries(ports) as Store),
          identity: () => clock.during(store.identity()),
          outdated: () => clock.during(store.outdated()),
          prepare: (options) => clock.during(store.prepare(options)),
          source: (job) => timeless(store.source(job)),
          // Handlers decide how long a transaction takes; its statements take no time.
          transaction: (fn) => store.transaction((tx, own) => fn(timeless(tx), timeless(own))),
        }
        return { store: wrapped, defaultQueue }
      },
    }
  }
}

/** The world of a test file: one PGlite with these tables, and before each test they are empty and another history begins. */
export function openWorld(tables: string): World {
  const world = new World()
  const names = [...tables.matchAll(/create table (\w+)/g)].map(([, name]) => name as string)
  let db: PGlite
  beforeAll(async () => {
    db = await openPglite(tables)
  })
  beforeEach(() => world.begin(db, ...names))
  afterAll(() => db.close())
  return world
}
