// The ledger in SQL: one statement per verb, many keys each.
import type { SqlDatabase } from '../executor.ts'
import type { Ledger, TakeAnswer } from '../ledger.ts'
import { statements } from './statements.gen.ts'

export function sqlLedger(db: SqlDatabase): Ledger {
  return {
    async take(holder, claims) {
      const { rows } = await db.query(statements.take, [holder, JSON.stringify(claims)])
      return rows.map((row) => ({
        key: row.key as string,
        verdict: row.verdict as TakeAnswer['verdict'],
        waitMs: Number(row.wait_ms),
        failures: Number(row.failures),
        crashes: Number(row.crashes),
      }))
    },
    async release(holder, claims) {
      await db.query(statements.release, [holder, JSON.stringify(claims)])
    },
    async settle(holder, rows, tx) {
      const input = rows.map(({ retryMs, ...row }) => ({ ...row, retry_ms: retryMs }))
      const answer = await (tx ?? db).query(statements.settle, [holder, JSON.stringify(input)])
      return new Set(answer.rows.map((row) => Number(row.take)))
    },
  }
}
