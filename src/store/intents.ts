// Work that has no natural row: a store row of its own, written once however often the write is repeated.
import type { StoreTransaction } from './transaction.ts'

export interface IntentRow {
  readonly id: string
  /** The input as JSON text. */
  readonly input: string
  readonly inMs: number
  readonly atMs: number | null
  readonly uniqueKey: string | null
  /** Its unique key is given up when it starts, not when it is done. Defaults to false. */
  readonly untilStart?: boolean
  /** The id was made for this row, so nobody has used it: such rows are written quicker. Defaults to false. */
  readonly idIsNew?: boolean
}

export interface IntentAnswer {
  readonly id: string
  readonly added: boolean
  /** The intent to hint: this one, or the one that already has its unique key. */
  readonly heldBy: string
  /** Another job that has an intent of this id: nothing was stored under it. */
  readonly usedBy: string | null
  readonly paused: boolean
  readonly waitMs: number
}

export interface Intents {
  /**
   * Writes intents, in `tx` where one is given; answers in the order of the rows. Without `tx` it waits for no other transaction that
   * holds an id or a unique key of these rows: it fails with an error of the kind `lock_timeout`, and nothing is written. In `tx`, an intent that a row with
   * `untilStart` is merged into does not start before the transaction has ended.
   */
  record(job: string, rows: readonly IntentRow[], tx?: StoreTransaction): Promise<IntentAnswer[]>
  /**
   * The claimed intents of these ids, none of which has started, give up their unique keys. Returns those that may start now: not
   * one that a row of an open transaction was merged into, and not while another intent with the same unique key is claimed.
   */
  startUnique(job: string, ids: readonly string[]): Promise<string[]>
  /** An intent in quarantine that has this unique key gives it up, in `tx` where one is given. False: there is none. */
  yieldUnique(job: string, uniqueKey: string, tx?: StoreTransaction): Promise<boolean>
  /** Deletes intents whose work is done, in `tx` where one is given; those that are gone already are no error. */
  finish(ids: readonly string[], tx?: StoreTransaction): Promise<void>
  /** Transactions that have written intents and are still open, the oldest first; a few of them. */
  openWriters(): Promise<OpenWriter[]>
}

/** An open transaction; what this role may not see of it is null. */
export interface OpenWriter {
  /** The server's process; null for a prepared transaction. */
  readonly process: number | null
  readonly application: string | null
  readonly state: string | null
  readonly openMs: number | null
}
