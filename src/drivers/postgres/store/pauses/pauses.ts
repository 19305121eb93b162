// Pauses in SQL.

import type { Pauses } from '../../../../store/pauses.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import type { Statements } from '../statements-by-schema.ts'
import { pauseOf } from '../status/rows.ts'

export function sqlPauses(db: SqlDatabase, texts: () => Statements): Pauses {
  return {
    async pause(job, reason, author, forMs) {
      const { rows } = await db.query(texts().pauses.pause, [job, reason, author, forMs])
      return pauseOf(rows[0] as Row)
    },
    async resume(job, author) {
      const { rows } = await db.query(texts().pauses.resume, [job, author])
      return rows.length === 1
    },
    async end(job) {
      const { rows } = await db.query(texts().pauses.resume, [job, null])
      return rows.length === 1
    },
    async list() {
      const { rows } = await db.query(texts().pauses.list)
      return rows.map(pauseOf)
    },
  }
}
