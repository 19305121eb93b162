// Registering, beating and freeing in SQL.
import type { SqlDatabase } from '../executor.ts'
import type { Workers } from '../workers.ts'
import { statements } from './statements.gen.ts'

export function sqlWorkers(db: SqlDatabase): Workers {
  return {
    async register({ holder, host, pid, jobs }, leaseMs) {
      await db.query(statements.register, [holder, host, pid, JSON.stringify(jobs), leaseMs])
    },
    async beat(holder, known, highestTake, leaseMs) {
      const { rows } = await db.query(statements.beat, [holder, JSON.stringify(known), highestTake, leaseMs])
      return { alive: rows[0]?.alive === true, givenBack: Number(rows[0]?.given_back ?? 0) }
    },
    async free(leaseMs) {
      const { rows } = await db.query(statements.free, [leaseMs])
      const keys = rows
        .filter((row) => row.key !== null)
        .map((row) => ({ job: row.job as string, key: row.key as string }))
      return { workers: Number(rows[0]?.workers ?? 0), keys }
    },
    async leave(holder) {
      await db.query(statements.leave, [holder])
    },
  }
}
