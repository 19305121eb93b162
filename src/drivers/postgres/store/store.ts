// A Store over any SQL database of the Postgres family.
import { RegrowError } from '../../../base/errors.ts'
import type { Job } from '../../../job/job.ts'
import type { Store } from '../../../store/store.ts'
import type { SqlDatabase } from '../../sql/client.ts'
import { adoptTransaction } from './adopt-transaction.ts'
import { sqlMarks } from './canary/canary.ts'
import { sqlLedger } from './claims/claims.ts'
import { sqlCoverage } from './diagnose/coverage.ts'
import { sqlDiagnosis } from './diagnose/diagnosis.ts'
import { adviceOn, classify } from './errors.ts'
import { sqlForgetting } from './forget.ts'
import { sqlIntents } from './intents/intents.ts'
import { sqlAudits } from './ledger-audit/ledger-audit.ts'
import { migrate, migratedVersion, schemaVersion } from './migrations/migrate.ts'
import { transactionOf } from './opaque.ts'
import { sqlPauses } from './pauses/pauses.ts'
import { sqlQuarantine } from './quarantine/quarantine.ts'
import { sqlRepair } from './repair/repair.ts'
import { sqlSchedules } from './schedules/schedules.ts'
import { sqlTimetable } from './schedules/timetable.ts'
import { sqlSource } from './source/source.ts'
import { newestSchema, statementsFor } from './statements-by-schema.ts'
import { sqlStatus } from './status/status.ts'
import { sqlSweeps } from './sweeps/sweeps.ts'
import { sqlWorkers } from './workers/workers.ts'

/** The schema that has the tables of schedules, and the one that can bring them back from the future. */
const schedulesSince = 6
const rewindsSince = 9

/** `exclusive`: nobody else can have it open, so every claim that is found at the start belongs to the dead. */
export function sqlStore<Tx>(
  db: SqlDatabase<Tx> & { close(): Promise<void> },
  { exclusive }: { exclusive: boolean },
): Store<Tx> {
  let schema = newestSchema
  let fitting = statementsFor(schema)
  const texts = () => fitting
  const hasSchedules = () => schema >= schedulesSince
  const ledger = sqlLedger(db, texts)
  const workers = sqlWorkers(db, texts)
  const source = (job: Job) => sqlSource(db, ledger, job, texts)
  return {
    ledger,
    workers,
    sweeps: sqlSweeps(db, texts),
    marks: sqlMarks(db, texts),
    audits: sqlAudits(db, texts),
    intents: sqlIntents(db, texts),
    status: sqlStatus(db, texts),
    quarantine: sqlQuarantine(db, texts),
    pauses: sqlPauses(db, texts),
    forgetting: sqlForgetting(db, texts),
    diagnosis: sqlDiagnosis(db, texts, source),
    coverage: sqlCoverage(db, texts),
    schedules: sqlSchedules(db, texts, hasSchedules, () => schema >= rewindsSince),
    timetable: sqlTimetable(db, texts, hasSchedules),
    repair: sqlRepair(db, () => schema),
    classify,
    advise: adviceOn,
    source,
    transaction: (fn, options) => db.transaction((tx, own) => fn(transactionOf(tx), own), options),
    connections: { adopt: adoptTransaction, reserve: db.reserve },
    identity: async () => String((await db.query(texts().identity)).rows[0]?.identity),
    async outdated() {
      await assertWritable(db)
      return (await schemaVersion(db)) < newestSchema
    },
    async prepare(options) {
      await assertWritable(db)
      const { to } = options.migrate ? await migrate(db) : { to: await migratedVersion(db) }
      schema = to
      fitting = statementsFor(to)
      if (exclusive) await workers.free(-1)
    },
    migrate: () => migrate(db),
    close: () => db.close(),
  }
}

/** The truth is the primary: a replica would show rows that are done, and take nothing (F46). */
async function assertWritable(db: SqlDatabase): Promise<void> {
  const { rows } = await db.query(
    `select pg_is_in_recovery() as replica, current_setting('transaction_read_only') = 'on' as read_only`,
  )
  if (rows[0]?.replica !== true && rows[0]?.read_only !== true) return
  throw new RegrowError(
    'read_only',
    rows[0]?.replica === true ? 'The store is a replica' : 'The store is read-only',
    'Give the address of the primary, read-write: the database is the truth, and a copy of it is late.',
  )
}
