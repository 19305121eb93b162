// A Store over any SQL database of the Postgres family.
import type { SqlDatabase } from '../executor.ts'
import type { Store } from '../store.ts'
import { sqlLedger } from './ledger.ts'
import { migrate } from './migrate.ts'
import { sqlSource } from './source.ts'
import { sqlSweeps } from './sweeps.ts'
import { sqlWorkers } from './workers.ts'

/** The ports of `db`; `close` closes it. */
export function sqlStore(db: SqlDatabase, close: () => Promise<void>): Store {
  return {
    ledger: sqlLedger(db),
    workers: sqlWorkers(db),
    sweeps: sqlSweeps(db),
    source: (job) => sqlSource(db, job),
    transaction: (fn) => db.transaction(fn),
    migrate: () => migrate(db),
    close,
  }
}
