// What users write, as types. Overloads are ordered so that the error for "no kind of job" teaches `pending`.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../base/duration.ts'
import type { Covers } from './covers.ts'
import type { BatchContext, Context, Handler, Transaction } from './handler.ts'
import type { KeyIn, KeyOut, KeyShape } from './key.ts'
import type { Pending } from './pending.ts'
import type { ScheduleOptions, Slot } from './schedule.ts'

/** Options that every kind of job has. */
export interface CommonOptions {
  /** How failed runs are repeated. Defaults to 20 attempts, 2 s doubling to 1 h, ± 25 %. */
  retry?: {
    /** Runs until quarantine. Defaults to 20. */
    attempts?: number
    /** Defaults to 'exponential'. */
    backoff?: 'exponential' | 'fixed'
    /** Wait after the first failure. Defaults to 2 s. */
    delay?: Duration
    /** Longest wait. Defaults to 1 h. */
    maxDelay?: Duration
  }
  /** After this `ctx.signal` aborts; 30 s later the claim is given up. Defaults to 15 minutes. */
  timeout?: Duration
  /** Calls of its handler at a time in one process, besides the process's own `concurrency`. Defaults to no limit. */
  concurrency?: number
  /**
   * Until when a second enqueue of the same key, or of an input with the same `unique` text, is merged into the first: its start
   * (default), or its success.
   */
  uniqueUntil?: 'start' | 'success'
  /** The safety net: how often the pending rows are looked through, and over which time what it finds is spread. */
  sweep?: {
    /** Defaults to 1 minute, ± 10 %. */
    every?: Duration
    /** Defaults to none. */
    jitter?: Duration
    /** An http(s) address that is called after each sweep that succeeded: a dead man's switch. Defaults to none. */
    heartbeat?: string
  }
}

/** Keys that a call of the handler gets at most; undefined: it gets one key, by itself. */
type Batch = number | undefined

/** The handler of a job of rows. With a `batch` it gets an array of keys, and `ctx.fail(key, error)` marks one of them. */
type PendingRun<S extends KeyShape, Tx = Transaction, B extends Batch = undefined> = B extends number
  ? (keys: KeyOut<S>[], ctx: BatchContext<KeyOut<S>, Tx>) => unknown
  : (key: KeyOut<S>, ctx: Context<Tx>) => unknown

/** The handler of a job of inputs. With a `batch` it gets an array of inputs with their ids, by which it marks them. */
type InputRun<Schema extends StandardSchemaV1, Tx = Transaction, B extends Batch = undefined> = B extends number
  ? (items: InputItem<StandardSchemaV1.InferOutput<Schema>>[], ctx: BatchContext<string, Tx>) => unknown
  : (input: StandardSchemaV1.InferOutput<Schema>, ctx: Context<Tx>) => unknown

/** A job whose work is rows of your own. Only `key` says what the key is: a handler's own annotation is checked, not believed. */
export interface PendingOptions<S extends KeyShape, Tx = Transaction, B extends Batch = undefined>
  extends CommonOptions {
  /** Type of the key column: 'text' (default), 'int', 'bigint', 'uuid', or an object of these for a composite key. */
  key?: S
  /** Which rows imply that the job should run? Returns the key; may return `version` and `run_at`. */
  pending: Pending<KeyOut<NoInfer<S>>>
  /** The column that tells the state of these rows, and its values that need no work: held against the database by `doctor`. */
  covers?: Covers | readonly Covers[]
  /** Keys that a call of the handler gets at most: it is given an array of them. Defaults to one key, by itself. */
  batch?: B
  /** The handler, where declaration and handler live in one file. */
  run?: PendingRun<NoInfer<S>, Tx, NoInfer<B>>
}

/** A job whose work has no natural row: its input is stored as an intent. */
export interface InputOptions<Schema extends StandardSchemaV1, Tx = Transaction, B extends Batch = undefined>
  extends CommonOptions {
  /** Standard Schema (zod, valibot, …) of the input. */
  input: Schema
  /** Inputs that a call of the handler gets at most: it is given an array of `{ id, input }`. Defaults to one input, by itself. */
  batch?: B
  run?: InputRun<NoInfer<Schema>, Tx, NoInfer<B>>
}

/** A job that recurs: each instant of its schedule is a slot, which ran or was skipped with a reason. */
export interface RecurringOptions<Tx = Transaction> extends CommonOptions {
  /** When it recurs: cron text in a zone, or an interval. */
  schedule: ScheduleOptions
  run?: (slot: Slot, ctx: Context<Tx>) => unknown
}

/** Spread over the next `jitter`, or between two durations. It is only in the queue, and may be lost with it. */
export type Jitter = Duration | readonly [from: Duration, to: Duration]

/** Anything with `query(text, params)`: the transaction that the intent is written in. */
export interface TransactionLike {
  query(text: string, params?: never): unknown
}

type RowSaysWhen = 'the row says when: return it as `run_at` from the pending query'

export interface EnqueuePendingOptions {
  jitter?: Jitter
  /** A transaction of yours that writes the row. The hint is pushed at once; three more tries cover its commit. */
  tx?: TransactionLike
  in?: RowSaysWhen
  at?: RowSaysWhen
}

export interface EnqueueInputOptions {
  /** Not before so long from now; stored with the intent. */
  in?: Duration
  /** Not before this instant; stored with the intent. */
  at?: Date
  jitter?: Jitter
  /** Your transaction: the intent commits with it. */
  tx?: TransactionLike
  /** The intent's id (a uuid). Give it to make a repeated call one intent. Defaults to a new one. */
  id?: string
  /** Another input of this job with this text is merged into this one until it starts; with `uniqueUntil: 'success'`, until it is done. */
  unique?: string
}

/** What became of one enqueue. The work is safe in each case; only `added` and `merged` are also quick. */
export interface EnqueueResult {
  /** The key as text; of an input job the id of its intent, and of a merged one the id of the intent that it is merged into. */
  readonly key: string
  /**
   * `added`: its hint is new in the queue. `merged`: there was such a hint, or an intent with that unique text. `dropped`: the queue was
   * full or broken; the sweep will find the row. `held`: the job is paused; the work waits in the store.
   */
  readonly status: 'added' | 'merged' | 'dropped' | 'held'
}

/** What became of an enqueue of many: how many of each status, and their keys. */
export interface EnqueueReport {
  /** Hints that are new in the queue. */
  readonly added: number
  /** There was such a hint (or an intent with that unique key) already. */
  readonly merged: number
  /** The queue was full or broken; the sweep will find the row. */
  readonly dropped: number
  /** The job is paused; the work waits in the store. */
  readonly held: number
  /** Keys, in the order given; of an input job the ids of its intents. */
  readonly keys: readonly string[]
}

export interface PendingJob<S extends KeyShape, Tx = Transaction, B extends Batch = undefined> {
  readonly name: string
  /** Runs the key soon. Only for speed: the pending query is the guarantee. */
  enqueue(key: KeyIn<S>, options?: EnqueuePendingOptions): Promise<EnqueueResult>
  enqueueMany(keys: Iterable<KeyIn<S>>, options?: EnqueuePendingOptions): Promise<EnqueueReport>
  /** The handler, in a file that only workers import. */
  handle(run: PendingRun<S, Tx, B>): Handler
}

/** One input of a batch, with the id of its intent. */
export interface InputItem<Input> {
  readonly id: string
  readonly input: Input
}

export interface InputJob<Schema extends StandardSchemaV1, Tx = Transaction, B extends Batch = undefined> {
  readonly name: string
  /** Stores an intent and hints it. When this returns, the work is certain. */
  enqueue(input: StandardSchemaV1.InferInput<Schema>, options?: EnqueueInputOptions): Promise<EnqueueResult>
  enqueueMany(
    inputs: Iterable<StandardSchemaV1.InferInput<Schema>>,
    options?: Omit<EnqueueInputOptions, 'id' | 'unique'>,
  ): Promise<EnqueueReport>
  /** The handler, in a file that only workers import. */
  handle(run: InputRun<Schema, Tx, B>): Handler
}

export interface RecurringJob<Tx = Transaction> {
  readonly name: string
  /** The handler, in a file that only workers import. */
  handle(run: (slot: Slot, ctx: Context<Tx>) => unknown): Handler
}

/** What the compiler says of a `schedule` that fits no overload: it tells of the last one. */
type ScheduleStandsAlone =
  'a job has one of `pending`, `input`, `schedule`; a `schedule` has `cron` or `every`, and `tz`, `missed`, `overlap`, `jitter`, `startAt`, `endAt`'

/** Declares a job and binds it to the app. A job has exactly one of `pending`, `input` and `schedule`. */
export interface DeclareJob<Tx = Transaction> {
  <Schema extends StandardSchemaV1, B extends Batch = undefined>(
    name: string,
    options: InputOptions<Schema, Tx, B> & { pending?: never; schedule?: never },
  ): InputJob<Schema, Tx, B>
  (name: string, options: RecurringOptions<Tx> & { pending?: never; input?: never }): RecurringJob<Tx>
  <const S extends KeyShape = 'text', B extends Batch = undefined>(
    name: string,
    options: PendingOptions<S, Tx, B> & { input?: never; schedule?: ScheduleStandsAlone },
  ): PendingJob<S, Tx, B>
}
