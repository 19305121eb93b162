// What a handler gets and gives. Returning is success, throwing is failure.
import type { Duration } from '../base/duration.ts'
import type { Job } from './job.ts'
import type { BuiltQuery, SqlValue } from './pending.ts'

/** What every store's transaction can do. Yours can do more: its type is that of the client that the store was given. */
export interface Transaction {
  query(text: string, params?: readonly (SqlValue | bigint)[]): Promise<{ rows: Record<string, unknown>[] }>
}

/** What a run may use besides its key; `Tx` is the transaction of the app's store. */
export interface Context<Tx = Transaction> {
  readonly job: string
  /** Counts from 1: what failed and what crashed before, plus this one. */
  readonly attempt: number
  /** Stable over attempts, new with a new version: give it to providers that take one. */
  readonly idempotencyKey: string
  /** Aborts at the timeout, when the claim is lost, and when the worker stops. */
  readonly signal: AbortSignal
  /**
   * Runs `fn` in a transaction that also settles the run: effects and outcome commit together, or not at all.
   * Once per run and last; `{ settle: false }` only fences (the claim is held while it commits), any number of times.
   */
  tx<T>(fn: (tx: Tx) => Promise<T>, options?: { settle?: boolean }): Promise<T>
  /**
   * The same for effects that are one statement: sql`update …`, { text, values }, a Drizzle or Kysely query. Nothing is awaited inside,
   * so those of runs that end in the same moment share a transaction, many times quicker than one for each.
   */
  tx(statement: BuiltQuery, options?: { settle?: boolean }): Promise<{ rows: Record<string, unknown>[] }>
  /** Ends the run without success or failure: nothing is counted, and the key starts again after `delay`. Defaults to at once. */
  snooze(delay?: Duration): void
  /** Ends the run in quarantine: a person must look at it. */
  quarantine(reason: string): void
  /** Writes a line with the job and key. */
  readonly log: { info(message: string): void; warn(message: string): void; error(message: string): void }
}

/** What a run of a batch may use. */
export interface BatchContext<K, Tx = Transaction>
  extends Omit<Context<Tx>, 'attempt' | 'idempotencyKey' | 'snooze' | 'quarantine'> {
  /** Marks one key as failed; the others succeed when the handler returns. */
  fail(key: K, error: unknown): void
  /** One key starts again after `delay`. Defaults to at once. */
  snooze(key: K, delay?: Duration): void
  quarantine(key: K, reason: string): void
  idempotencyKey(key: K): string
}

/** A handler bound to its job; give it to `app.work({ handlers })`. */
export interface Handler {
  readonly job: Job
  /** Gets one value, or an array where the job has a `batch`. */
  readonly run: (value: never, ctx: never) => unknown
}
