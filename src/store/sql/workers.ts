// Registering, beating and freeing in SQL.
import type { SqlDatabase } from '../executor.ts'
import type { Workers } from '../workers.ts'
import { statements } from './statements.gen.ts'

export function sqlWorkers(db: SqlDatabase): Workers {
  return {
    async register(holder) {
      await db.query(statements.register, [holder])
    },
    async beat(holder, known, highestTake) {
      const { rows } = await db.query(statements.beat, [holder, JSON.stringify(known), highestTake])
      return rows[0]?.alive === true
    },
    async free(leaseMs) {
      const { rows } = await db.query(statements.free, [leaseMs])
      return rows as { job: string; key: string }[]
    },
  }
}
