// The slow audit of the ledger in SQL.

import type { Audits } from '../../../../store/ledger-audit.ts'
import type { SqlDatabase } from '../../../sql/client.ts'
import type { Statements } from '../statements-by-schema.ts'

const pageTimeoutMs = 10_000

export function sqlAudits(db: SqlDatabase, texts: () => Statements): Audits {
  return {
    async page(job, after, limit) {
      const { rows } = await db.queryWithin(pageTimeoutMs, texts().ledgerAudit.page, [job, after, limit])
      return rows.map((row) => ({
        key: row.key as string,
        waiting: row.waiting as boolean,
        idleMs: Number(row.idle_ms),
        unseenMs: row.unseen_ms === null ? null : Number(row.unseen_ms),
      }))
    },
    async write(job, verdicts) {
      return (await db.query(texts().ledgerAudit.write, [job, JSON.stringify(verdicts)])).rows.length
    },
  }
}
