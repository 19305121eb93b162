// The truth: a record of small ports. Which database is behind it, nobody outside the backends knows.
import type { Job } from '../job/job.ts'
import type { SqlExecutor } from './executor.ts'
import type { Ledger } from './ledger.ts'
import type { Source } from './source.ts'
import type { Sweeps } from './sweeps.ts'
import type { Workers } from './workers.ts'

export interface Store {
  readonly ledger: Ledger
  readonly workers: Workers
  readonly sweeps: Sweeps
  source(job: Job): Source
  /** Runs `fn` in a transaction; what it throws rolls everything back. */
  transaction<T>(fn: (tx: SqlExecutor) => Promise<T>): Promise<T>
  /** Brings the schema up to date. Safe to call from many processes at once. */
  migrate(): Promise<void>
  close(): Promise<void>
}
