// Whose turn it is, in SQL: compare-and-set on the row of the job.
import type { SqlDatabase } from '../executor.ts'
import type { Sweeps } from '../sweeps.ts'
import { statements } from './statements.gen.ts'

/** A turn that gave no sign for so long is anybody's; longer than one page may take. */
const turnMs = 30_000

export function sqlSweeps(db: SqlDatabase): Sweeps {
  return {
    async turn(holder, jobs) {
      const { rows } = await db.query(statements.turn, [holder, JSON.stringify(jobs), turnMs])
      return rows.map((row) => ({
        job: row.job as string,
        term: Number(row.term),
        cursor: row.cursor as string | null,
      }))
    },
    async advance(holder, turn, cursor) {
      const { rows } = await db.query(statements.advance, [turn.job, holder, turn.term, cursor, turnMs])
      return rows.length === 1
    },
    async end(holder, turn, cursor, nextMs) {
      await db.query(statements.endTurn, [turn.job, holder, turn.term, cursor, nextMs])
    },
  }
}
