// The database of a simulated world, as the simulator sees it: the model, or real SQL in a PGlite.
import type { Store } from '../../src/store/store.ts'
import type { AppRow, AppTx, Change, OwnTable } from './store/database.ts'
import type { IntentRow, LedgerRow, PauseRow, ScheduleRow, SlotRow, SweepRow, WorkerRow } from './store/schema.ts'

/** A transaction of the application's own. */
export type OwnTx = AppTx & { commit(): Promise<void> }

export interface Truth {
  /** Called for every committed change of a row. */
  watch: (change: Change) => void
  store(): Store<AppTx>
  begin(): OwnTx
  /** Ends the session of a transaction. */
  kill(tx: unknown): void
  /** A crash of the server: of its asynchronous commits that are not on disk, the last `lose(n)` are gone. */
  restart(lose: (asyncCommits: number) => number): number
  /** What is committed so far is on disk. */
  flush(): void
  /** One transaction at a time, in no virtual time: the store has one connection. */
  readonly oneConnection: boolean
  /** What is committed, by job and key with '\u0000' between. */
  readonly ledger: ReadonlyMap<string, LedgerRow>
  readonly workers: ReadonlyMap<string, WorkerRow>
  readonly sweeps: ReadonlyMap<string, SweepRow>
  readonly pauses: ReadonlyMap<string, PauseRow>
  readonly intents: ReadonlyMap<string, IntentRow>
  readonly schedules: ReadonlyMap<string, ScheduleRow>
  /** What is committed, by schedule and instant with '\u0000' between. */
  readonly slots: ReadonlyMap<string, SlotRow>
  rows(table: string): ReadonlyMap<string, AppRow>
  /** Somebody empties a table; missing: that is not for this store. */
  empty?(name: OwnTable): void
  /** Copies tables as they are; what it returns brings them back. */
  copy?(names: readonly OwnTable[]): () => void
}
