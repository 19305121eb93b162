// What a handler gets and gives. Returning is success, throwing is failure.
import type { SqlValue } from './pending.ts'

/** A transaction of the store. */
export interface Transaction {
  query(text: string, params?: readonly SqlValue[]): Promise<{ rows: Record<string, unknown>[] }>
}

/** What a run may use besides its key. */
export interface Context {
  /** Counts from 1: what failed and what crashed before, plus this one. */
  readonly attempt: number
  /** Stable over attempts: give it to providers that take one. */
  readonly idempotencyKey: string
  /** Aborts when the claim is lost. */
  readonly signal: AbortSignal
  /** Runs `fn` in a transaction that also settles the run: effects and outcome commit together, or not at all. */
  tx<T>(fn: (tx: Transaction) => Promise<T>): Promise<T>
}
