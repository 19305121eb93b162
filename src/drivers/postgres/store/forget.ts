// Forgetting a job, in SQL.

import type { Forgetting } from '../../../store/forgetting.ts'
import type { Row, SqlDatabase } from '../../sql/client.ts'
import type { Statements } from './statements-by-schema.ts'

const timeoutMs = 20_000

export function sqlForgetting(db: SqlDatabase, texts: () => Statements): Forgetting {
  return {
    async forget(job, leaseMs, all, author) {
      const { rows } = await db.queryWithin(timeoutMs, texts().forget, [job, leaseMs, all, author])
      const row = rows[0] as Row
      return {
        done: row.done === true,
        live: Number(row.live),
        schedules: JSON.parse(row.schedules as string) as string[],
        remembered: Number(row.remembered),
        quarantined: Number(row.quarantined),
        intents: Number(row.intents),
        swept: row.swept === true,
        paused: row.paused === true,
      }
    },
  }
}
