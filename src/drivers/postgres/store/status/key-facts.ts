// What the store knows of one key, in SQL.

import type { ClaimFacts, LedgerFacts, StoreStatus } from '../../../../store/status.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import type { Statements } from '../statements-by-schema.ts'
import { date, dateOrNull, pauseOf, sweepOf } from './rows.ts'

const timeoutMs = 10_000

export function keyFacts(db: SqlDatabase, texts: () => Statements): StoreStatus['key'] {
  return async (job, key, leaseMs) => {
    const { rows } = await db.queryWithin(timeoutMs, texts().status.explainKey, [job, key, leaseMs])
    const row = rows[0] as Row
    return {
      at: date(row.at_ms),
      ledger: row.state === null ? null : ledgerOf(row),
      intent: row.created_ms === null ? null : { createdAt: date(row.created_ms), runAt: dateOrNull(row.run_ms) },
      pause: row.since_ms === null ? null : pauseOf(row),
      sweep: row.next_ms === null ? null : sweepOf({ ...row, held: row.held_rows }),
      workers: { live: Number(row.live), able: Number(row.able) },
      running: Number(row.running),
      otherSuspect: row.other_suspect === true,
      graceUntil: dateOrNull(row.grace_ms),
      noProgress: Number(row.no_progress),
    }
  }
}

function ledgerOf(row: Row): LedgerFacts {
  return {
    state: row.state as LedgerFacts['state'],
    version: row.version as string | null,
    failures: Number(row.failures),
    crashes: Number(row.crashes),
    suspect: row.suspect === true,
    retryAt: dateOrNull(row.retry_ms),
    error: row.error as string | null,
    updatedAt: date(row.updated_ms),
    claim: row.held === true ? claimOf(row) : null,
  }
}

const claimOf = (row: Row): ClaimFacts => ({
  worker:
    row.host === null
      ? null
      : {
          host: row.host as string,
          pid: Number(row.pid),
          beatAt: date(row.beat_ms),
          stuck: Number(row.stuck),
        },
  beating: row.beating === true,
  alone: row.solo === true,
})
