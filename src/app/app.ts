// What an app is to its users: what it is made of, and what it can do. How that comes about, regrow.ts knows.

import type { Duration } from '../base/duration.ts'
import type { Events } from '../base/events.ts'
import type { LogOption } from '../base/log.ts'
import type { LoopReport } from '../base/watchdog.ts'
import type { QueueDriver, StoreDriver } from '../drivers/driver.ts'
import type { DeclareJob, EnqueueReport } from '../job/declaration.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Handler, Transaction } from '../job/handler.ts'
import type { KeyShape } from '../job/key.ts'
import type { CoverageOptions, CoverageReport } from '../operate/coverage/coverage.ts'
import type { DoctorOptions, DoctorReport } from '../operate/doctor/doctor.ts'
import type { ForgetOptions, ForgetReport } from '../operate/forget.ts'
import type { Health } from '../operate/health.ts'
import type { Pausing } from '../operate/pause.ts'
import type { Quarantine } from '../operate/quarantine.ts'
import type { SchedulesOfApp } from '../operate/schedules.ts'
import type { Status } from '../operate/status.ts'
import type { Why } from '../operate/why/why.ts'
import type { SweepOptions, SweepReport } from '../sweep/run-sweep.ts'
import type { SlotReport } from '../worker/capacity.ts'

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
  /** The age of each loop's last success: what readiness is. It and `slots` wait for the start, and reject as `ready` does. */
  report(): Promise<LoopReport[]>
  /** How many slots are free, and how many are stuck. */
  slots(): Promise<SlotReport>
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
  enqueue(item: unknown, options?: object): Promise<EnqueueReport>
}

/** `Tx` is what `ctx.tx` and `app.transaction` hand out: the store's own transaction. */
export interface App<Tx = Transaction> extends Pausing {
  readonly job: DeclareJob<Tx>
  work(options?: WorkOptions): WorkerHandle
  /** Runs `fn` in a transaction of the store; what is enqueued with `{ tx }` commits with it and is hinted after. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>
  /** Brings regrow's tables up to date. */
  migrate(): Promise<{ from: number; to: number }>
  /** Every job of this app, in the order of declaration. */
  jobs(): readonly DeclaredJob[]
  /** The queue in use; one that is not shared lives and ends with this process. */
  queue(): Promise<{ name: string; shared: boolean }>
  /** How every job and worker stands, from regrow's tables. */
  status(): Promise<Status>
  /** `status`, judged: what is wrong, and what to do about it. Rejects when the store does not answer. */
  health(): Promise<Health>
  /**
   * Why a key does not run, what comes next and what to type. `key` as the job's handler gets it, or its text as lists print it.
   * Runs the pending query for that key; changes nothing.
   */
  why(job: string, key: unknown): Promise<Why>
  /** What every job's `covers` promises, held against the database: states and rows that no job would find. Reads only. */
  coverage(options?: CoverageOptions): Promise<CoverageReport>
  /**
   * What is wrong, or will be, with the database, the queue, the fleet and every pending query, and what to do. Explains and
   * runs the pending queries under a time limit; changes nothing. Rejects when the store does not answer.
   */
  doctor(options?: DoctorOptions): Promise<DoctorReport>
  /** Keys that failed for good. */
  readonly quarantine: Quarantine
  /** What recurs: schedules that jobs declare, and those made at run time. */
  readonly schedules: SchedulesOfApp
  /** Whole passes of some jobs now (all unless `jobs` says otherwise), or with `dryRun` what they would do. */
  sweep(options?: SweepOptions): Promise<SweepReport[]>
  /**
   * Forgets a job that was removed from the code: its sweep, pause, ledger rows and hints. Rejects with `job_in_use` while this app or a live
   * worker declares it, and with `job_has_work` when it has stored inputs or quarantined keys, unless `force` is given.
   */
  forget(job: string, options?: ForgetOptions): Promise<ForgetReport>
  on: Events<EventMap>['on']
  /**
   * Stops the workers of this app, gently unless they are being stopped already, then closes what it opened. May be called at any time and
   * again; every call after it fails with `closed`.
   */
  close(): Promise<void>
  /** `await using app = regrow(…)` closes it at the end of its block. */
  [Symbol.asyncDispose](): Promise<void>
}
