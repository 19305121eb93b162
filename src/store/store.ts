// The truth: a record of small ports. Which database is behind it, nobody outside the backends knows.
import type { Transaction } from '../job/handler.ts'
import type { Job } from '../job/job.ts'
import type { Marks } from './canary.ts'
import type { Census } from './census.ts'
import type { Coverage } from './coverage.ts'
import type { Classify } from './errors.ts'
import type { Examiner } from './examiner.ts'
import type { Explainer } from './explainer.ts'
import type { Forgetting } from './forgetting.ts'
import type { Inspector } from './inspector.ts'
import type { Intents } from './intents.ts'
import type { Ledger } from './ledger.ts'
import type { Audits } from './ledger-audit.ts'
import type { Pauses } from './pauses.ts'
import type { Schedules } from './schedules.ts'
import type { Source } from './source.ts'
import type { SqlExecutor, TransactionOptions } from './sql-client.ts'
import type { Sweeps } from './sweeps.ts'
import type { Timetable } from './timetable.ts'
import type { Workers } from './workers.ts'

/** `Tx` is the transaction as the store's client knows it. */
export interface Store<Tx = Transaction> {
  readonly ledger: Ledger
  readonly workers: Workers
  readonly sweeps: Sweeps
  readonly marks: Marks
  readonly audits: Audits
  readonly intents: Intents
  readonly inspector: Inspector
  readonly examiner: Examiner
  readonly explainer: Explainer
  readonly census: Census
  readonly pauses: Pauses
  readonly forgetting: Forgetting
  readonly coverage: Coverage
  readonly schedules: Schedules
  readonly timetable: Timetable
  source(job: Job): Source
  /** Runs `fn` in a transaction, for regrow's statements (`tx`) and the user's (`own`); what it throws rolls all back. */
  transaction<T>(fn: (tx: SqlExecutor, own: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** The kind of an error that a call of this store ended with. Knows errors of connections that could not be made, too. */
  readonly classify: Classify
  /** What a person should do about such an error, where it is known. */
  readonly advise?: ((error: unknown) => string | undefined) | undefined
  /** A connection for a run's transactions, before it starts; null: there are enough. See `SqlDatabase.reserve`. */
  readonly reserve?: (() => Promise<() => void> | null) | undefined
  /** Which store this is: another one has another text, also where it began as a copy of this one on another server. */
  identity(): Promise<string>
  /** True when the schema is older than what `migrate` would make it; throws where nothing can be written. */
  outdated(): Promise<boolean>
  /** Makes sure that the store can be used: read-write, migrated (`migrate` true brings it up to date), free of the dead. */
  prepare(options: { migrate: boolean }): Promise<void>
  /** Brings the schema up to date. Safe to call from many processes at once. */
  migrate(): Promise<{ from: number; to: number }>
  close(): Promise<void>
}
