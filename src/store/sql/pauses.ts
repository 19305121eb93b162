// Pauses in SQL.
import type { Row, SqlDatabase } from '../executor.ts'
import type { Pauses } from '../pauses.ts'
import { pauseOf } from './inspector.ts'
import type { Statements } from './schema.ts'

export function sqlPauses(db: SqlDatabase, texts: () => Statements): Pauses {
  return {
    async pause(job, reason, author, forMs) {
      const { rows } = await db.query(texts().pause, [job, reason, author, forMs])
      return pauseOf(rows[0] as Row)
    },
    async resume(job, author) {
      const { rows } = await db.query(texts().resume, [job, author])
      return rows.length === 1
    },
    async end(job) {
      const { rows } = await db.query(texts().resume, [job, null])
      return rows.length === 1
    },
    async list() {
      const { rows } = await db.query(texts().listPauses)
      return rows.map(pauseOf)
    },
  }
}
