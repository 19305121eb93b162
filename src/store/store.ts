// The truth: a record of small ports. Which database is behind it, nobody outside the backends knows.
import type { Transaction } from '../job/handler.ts'
import type { Job } from '../job/job.ts'
import type { Marks } from './canary.ts'
import type { Coverage } from './coverage.ts'
import type { Diagnosis } from './diagnosis.ts'
import type { Classify } from './errors.ts'
import type { Forgetting } from './forgetting.ts'
import type { Intents } from './intents.ts'
import type { Ledger } from './ledger.ts'
import type { Audits } from './ledger-audit.ts'
import type { Pauses } from './pauses.ts'
import type { StoreQuarantine } from './quarantine.ts'
import type { Repair } from './repair.ts'
import type { Schedules } from './schedules.ts'
import type { Source } from './source.ts'
import type { StoreStatus } from './status.ts'
import type { Sweeps } from './sweeps.ts'
import type { Timetable } from './timetable.ts'
import type { StoreTransaction, TransactionOptions } from './transaction.ts'
import type { Workers } from './workers.ts'

/** Connections and transactions that the store did not open for itself. */
export interface StoreConnections {
  /**
   * A transaction that the user opened on this store's database, for the ports. `of` names the call that was given it. Throws
   * `bad_options` for anything else.
   */
  adopt(of: string, tx: object): StoreTransaction
  /**
   * Null while there are enough connections. Else sets one aside for the transactions of a run that is about to start, and resolves
   * to what gives it back; rejects when there is none in time. Missing where connections are not scarce.
   */
  readonly reserve?: (() => Promise<() => void> | null) | undefined
}

/** `Tx` is the transaction as the store's client knows it. */
export interface Store<Tx = Transaction> {
  readonly ledger: Ledger
  readonly workers: Workers
  readonly sweeps: Sweeps
  readonly marks: Marks
  readonly audits: Audits
  readonly intents: Intents
  readonly status: StoreStatus
  readonly quarantine: StoreQuarantine
  readonly pauses: Pauses
  readonly forgetting: Forgetting
  readonly schedules: Schedules
  readonly timetable: Timetable
  readonly connections: StoreConnections
  /** Missing: the store cannot say what its server does with a query. */
  readonly diagnosis?: Diagnosis | undefined
  /** Missing: the store cannot prove which rows a query returns. */
  readonly coverage?: Coverage | undefined
  /** Missing: the store cannot tell rows that hold what regrow never writes. */
  readonly repair?: Repair | undefined
  source(job: Job): Source
  /** Runs `fn` in a transaction, for regrow's statements (`tx`) and the user's (`own`); what it throws rolls all back. */
  transaction<T>(fn: (tx: StoreTransaction, own: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** The kind of an error that a call of this store ended with. Knows errors of connections that could not be made, too. */
  readonly classify: Classify
  /** What a person should do about such an error, where it is known. */
  readonly advise?: ((error: unknown) => string | undefined) | undefined
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
