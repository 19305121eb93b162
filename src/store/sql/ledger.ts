// The ledger in SQL: one statement per verb, a hundred keys each.
import { type SqlDatabase, sqlState } from '../executor.ts'
import type { Ledger, TakeAnswer } from '../ledger.ts'
import type { Statements } from './schema.ts'

export function sqlLedger(db: SqlDatabase, texts: () => Statements): Ledger {
  return {
    async take(holder, claims, { suspects = false } = {}) {
      const { rows } = await db.query(texts().take, [holder, JSON.stringify(claims), suspects])
      return rows.map((row) => ({
        job: row.job as string,
        key: row.key as string,
        verdict: row.verdict as TakeAnswer['verdict'],
        waitMs: Number(row.wait_ms),
        failures: Number(row.failures),
        crashes: Number(row.crashes),
        version: row.version as string | null,
        together: row.together as number | null,
      }))
    },
    async alone(holder, { job, key, take }) {
      try {
        return (await db.query(texts().alone, [job, key, holder, take])).rows.length === 1
      } catch (error) {
        // Two asked at the same moment, and the other one has it.
        if (sqlState(error) === '23505') return false
        throw error
      }
    },
    async release(holder, claims) {
      await db.query(texts().release, [holder, JSON.stringify(claims)])
    },
    async settle(holder, rows, tx) {
      const input = rows.map(({ retryMs, ...row }) => ({ ...row, retry_ms: retryMs }))
      const answer = await (tx ?? db).query(texts().settle, [holder, JSON.stringify(input)])
      return new Set(answer.rows.map((row) => Number(row.take)))
    },
    async fence(holder, claims, tx) {
      const { rows } = await tx.query(texts().fence, [holder, JSON.stringify(claims)])
      return new Set(rows.map((row) => Number(row.take)))
    },
    async clear(job, rows) {
      const answer = await db.query(texts().clear, [JSON.stringify(rows.map((row) => ({ job, ...row })))])
      return answer.rows.map((row) => row.key as string)
    },
    async stall(rows) {
      const input = rows.map(({ retryMs, ...row }) => ({ ...row, retry_ms: retryMs }))
      const answer = await db.query(texts().stall, [JSON.stringify(input)])
      return answer.rows.map((row) => row.key as string)
    },
    async standing(job, keys) {
      const { rows } = await db.query(texts().standing, [job, JSON.stringify(keys)])
      return rows.map((row) => ({
        key: row.key as string,
        live: row.live as boolean,
        quarantined: row.quarantined as boolean,
        waitMs: Number(row.wait_ms),
        version: row.version as string | null,
      }))
    },
  }
}
