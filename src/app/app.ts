// What an app is to code that declares, enqueues and works: what it is made of, and what it can do. How that comes about, regrow.ts
// knows; what people ask of it is in operator.ts.

import type { Duration } from '../base/duration.ts'
import type { Events } from '../base/events.ts'
import type { LogOption } from '../base/log.ts'
import type { LoopReport } from '../base/watchdog.ts'
import type { QueueDriver, StoreDriver } from '../drivers/driver.ts'
import type { DeclareJob, EnqueueResult } from '../job/declaration.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Handler, Transaction } from '../job/handler.ts'
import type { KeyShape } from '../job/key.ts'
import type { Pausing } from '../operate/pause.ts'
import type { CapacityReport } from '../worker/capacity.ts'
import type { Operable } from './operator.ts'

/** Options of an app; `Tx` is the transaction of its store. */
export interface AppOptions<Tx = Transaction> {
  /** The truth: `postgres(url)` or `pglite(directory)`. */
  store: StoreDriver<Tx>
  /** The view. Defaults to the store's own: an UNLOGGED table beside Postgres, memory beside PGlite. */
  queue?: QueueDriver
  /**
   * `'claim'` (default): a key is held while its handler runs, failures are remembered. `'none'`: neither; for cheap work that
   * may be repeated.
   */
  guard?: 'claim' | 'none'
  /** How long a worker may be silent before its claims are freed. Defaults to 15 s; it beats five times in that. */
  lease?: Duration
  /** Bring regrow's tables up to date on first use. Defaults to true outside production. */
  migrate?: boolean
  /**
   * Where lines for people go: warnings of regrow, and `ctx.log` of handlers. `false`: nowhere. Defaults to standard error. The same
   * warning is said at once, then after 10 s and at growing intervals, with how often it happened. `app.on` hears everything.
   */
  log?: LogOption
}

export interface WorkOptions {
  /** Handlers from files that only workers import; inline `run` handlers of the app are always there. */
  handlers?: readonly Handler[]
  /** Handler calls at a time in this process. Defaults to 10; a job may have a limit of its own beside it. */
  concurrency?: number
  /** Jobs that this worker runs, sweeps and shows, and no others. Defaults to all that it has handlers of. */
  only?: string | readonly string[]
  /** Jobs that this worker leaves to others. Defaults to none. */
  except?: string | readonly string[]
  /** Replaces the app's `log` from now on. */
  log?: LogOption
}

export interface DrainOptions extends Pick<WorkOptions, 'handlers' | 'concurrency' | 'only' | 'except'> {
  /** How long it may begin new runs. Defaults to no limit. */
  for?: Duration
  /** Keys that it starts at most. Defaults to no limit. */
  max?: number
  /** How long handlers that run when `for` is over may take to end; then they are aborted and given back. Defaults to 25 s. */
  grace?: Duration
}

/** What a drain did. */
export interface DrainReport {
  /** Keys that it started. */
  readonly runs: number
  readonly succeeded: number
  /** Runs that failed and are tried again later; a drain does not wait for that. */
  readonly failed: number
  /** Keys that went to quarantine. */
  readonly quarantined: number
  /** Hints that its sweeps added to those that were there. */
  readonly swept: number
  /** Jobs whose pending query failed. */
  readonly sweepsFailed: readonly string[]
  /** Why it ended: nothing is due any more, `for` is over (or the app closed), or `max` keys were started. */
  readonly ended: 'idle' | 'timeout' | 'max'
  readonly tookMs: number
}

/** A worker of this process. */
export interface WorkerHandle {
  /**
   * Resolves when the store is open and the worker is registered. A store that is away is waited for; rejects where that would not
   * help (no such database, user or host, a right that is missing, an app that was closed).
   */
  readonly ready: Promise<void>
  /** The jobs that it works on. */
  readonly jobs: readonly string[]
  /** Stops popping, waits up to `grace` (25 s), aborts, gives back. Called again, it waits no longer. */
  stop(options?: { grace?: Duration }): Promise<void>
  /** The age of each loop's last success: what readiness is. It and `capacity` wait for the start, and reject as `ready` does. */
  loops(): Promise<LoopReport[]>
  /** How many slots are free, and how many are stuck. */
  capacity(): Promise<CapacityReport>
  /** `await using worker = app.work()` stops it at the end of its block, with the default grace. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A declared job as tools see it, without the types of its key or input. */
export interface DeclaredJob {
  readonly name: string
  readonly kind: 'pending' | 'input' | 'schedule'
  /** Type of its key; null where the key is the id of an intent, or a slot. */
  readonly key: KeyShape | null
  /** Declared with its handler inline. */
  readonly handled: boolean
  enqueue(item: unknown, options?: object): Promise<EnqueueResult>
}

/** `Tx` is what `ctx.tx` and `app.transaction` hand out: the store's own transaction. */
export interface App<Tx = Transaction> extends Operable, Pick<Pausing, 'pause' | 'resume'> {
  readonly job: DeclareJob<Tx>
  work(options?: WorkOptions): WorkerHandle
  /**
   * Runs what is due in this process, sweeps and schedules included, until nothing is: for tests, scripts, and processes that live as
   * long as a request. Errors of handlers are counted, not thrown. Rejects when the store does not answer.
   */
  drain(options?: DrainOptions): Promise<DrainReport>
  /** Runs `fn` in a transaction of the store; what is enqueued with `{ tx }` commits with it and is hinted after. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>
  on: Events<EventMap>['on']
  /**
   * Stops the workers of this app, gently unless they are being stopped already, then closes what it opened. May be called at any time and
   * again; every call after it fails with `closed`.
   */
  close(): Promise<void>
  /** `await using app = regrow(…)` closes it at the end of its block. */
  [Symbol.asyncDispose](): Promise<void>
}
