// Pauses in SQL.
import type { SqlDatabase } from '../executor.ts'
import type { Pauses } from '../pauses.ts'
import { pauseOf } from './inspector.ts'
import { statements } from './statements.gen.ts'

export function sqlPauses(db: SqlDatabase): Pauses {
  return {
    async pause(job, reason, author, forMs) {
      await db.query(statements.pause, [job, reason, author, forMs])
    },
    async resume(job, author) {
      const { rows } = await db.query(statements.resume, [job, author])
      return rows.length === 1
    },
    async list() {
      const { rows } = await db.query(statements.listPauses)
      return rows.map(pauseOf)
    },
  }
}
