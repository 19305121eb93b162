// Registering, beating and freeing in SQL.
import type { SqlDatabase } from '../executor.ts'
import type { Workers } from '../workers.ts'
import type { Statements } from './schema.ts'

export function sqlWorkers(db: SqlDatabase, texts: () => Statements): Workers {
  return {
    async register({ holder, host, pid, jobs }, leaseMs) {
      await db.query(texts().register, [holder, host, pid, JSON.stringify(jobs), leaseMs])
    },
    async beat(holder, known, highestTake, leaseMs) {
      const { rows } = await db.query(texts().beat, [holder, JSON.stringify(known), highestTake, leaseMs])
      return { alive: rows[0]?.alive === true, givenBack: Number(rows[0]?.given_back ?? 0) }
    },
    async free(leaseMs) {
      const { rows } = await db.query(texts().free, [leaseMs])
      const keys = rows
        .filter((row) => row.key !== null)
        .map((row) => ({ job: row.job as string, key: row.key as string }))
      return { workers: Number(rows[0]?.workers ?? 0), keys }
    },
    async leave(holder) {
      await db.query(texts().leave, [holder])
    },
  }
}
