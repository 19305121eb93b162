// Whose turn it is, in SQL: compare-and-set on the row of the job.
import type { SqlDatabase } from '../executor.ts'
import type { Sweeps } from '../sweeps.ts'
import type { Statements } from './schema.ts'

/** A turn that gave no sign for so long is anybody's; longer than one page may take. */
const turnMs = 30_000
/** Who made the last pass waits so long for somebody else to take the next one. */
const standBackMs = 500

export function sqlSweeps(db: SqlDatabase, texts: () => Statements): Sweeps {
  return {
    async declare(jobs) {
      await db.query(texts().declareSweeps, [JSON.stringify(jobs)])
    },
    async turn(holder, jobs, max) {
      const { rows } = await db.query(texts().turn, [holder, JSON.stringify(jobs), turnMs, max, standBackMs])
      const won = rows.filter((row) => row.won === true)
      const waits = rows.filter((row) => row.won !== true).map((row) => Number(row.wait_ms))
      return {
        turns: won.map((row) => ({
          job: row.job as string,
          term: Number(row.term),
          cursor: row.cursor as string | null,
          auditedMs: row.audited_ms === null ? null : Number(row.audited_ms),
        })),
        nextMs: Math.max(0, Math.min(...waits, Number.POSITIVE_INFINITY)),
      }
    },
    async advance(holder, turn, cursor) {
      const { rows } = await db.query(texts().advance, [turn.job, holder, turn.term, cursor, turnMs])
      return rows.length === 1
    },
    async end(holder, turn, { nextMs, tookMs, ...end }) {
      const detail = JSON.stringify({ ...end, next_ms: nextMs, took_ms: Math.round(tookMs) })
      await db.query(texts().endTurn, [turn.job, holder, turn.term, detail])
    },
    async makeDue(jobs) {
      await db.query(texts().makeDue, [JSON.stringify(jobs)])
    },
  }
}
