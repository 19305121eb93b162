// Work that has no natural row: a store row of its own, written once however often the write is repeated.
import type { SqlExecutor } from './executor.ts'

export interface IntentRow {
  readonly id: string
  /** The input as JSON text. */
  readonly input: string
  readonly inMs: number
  readonly atMs: number | null
  readonly uniqueKey: string | null
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
  /** Writes intents, in `tx` where one is given; answers in the order of the rows. */
  record(job: string, rows: readonly IntentRow[], tx?: SqlExecutor): Promise<IntentAnswer[]>
  /** An intent in quarantine that has this unique key gives it up, in `tx` where one is given. False: there is none. */
  yieldUnique(job: string, uniqueKey: string, tx?: SqlExecutor): Promise<boolean>
  /** Deletes intents whose work is done, in `tx` where one is given; those that are gone already are no error. */
  finish(ids: readonly string[], tx?: SqlExecutor): Promise<void>
}
