// Migrations: plain SQL, forward only. Ten processes may run this at once: a lock of the transaction, not of the
// session, so it is safe behind a pooler.
import type { SqlDatabase, SqlExecutor } from '../executor.ts'
import { migrations } from './migrations/migrations.gen.ts'

/** An arbitrary number that is regrow's. */
const lockNumber = 7_236_142_905

export async function migrate(db: SqlDatabase): Promise<void> {
  if (await isMigrated(db)) return
  await db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(${lockNumber})::text`)
    if (await isMigrated(tx)) return
    for (const { statements } of migrations) for (const statement of statements) await tx.query(statement)
  })
}

async function isMigrated(db: SqlExecutor): Promise<boolean> {
  const { rows } = await db.query(`select to_regclass('regrow.sweeps') is not null as found`)
  return rows[0]?.found === true
}
