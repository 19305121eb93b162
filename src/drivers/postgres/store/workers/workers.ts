// Registering, beating and freeing in SQL.

import type { FreedKey, Workers } from '../../../../store/workers.ts'
import type { SqlDatabase } from '../../../sql/client.ts'
import type { Statements } from '../statements-by-schema.ts'

export function sqlWorkers(db: SqlDatabase, texts: () => Statements): Workers {
  return {
    async register({ holder, host, pid, jobs }, leaseMs) {
      await db.query(texts().workers.register, [holder, host, pid, JSON.stringify(jobs), leaseMs])
    },
    async beat(holder, known, highestTake, leaseMs, stuck = 0, lowestTake = 0) {
      const { rows } = await db.query(texts().workers.beat, [
        holder,
        JSON.stringify(known),
        highestTake,
        leaseMs,
        stuck,
        lowestTake,
      ])
      return { alive: rows[0]?.alive === true, givenBack: Number(rows[0]?.given_back ?? 0) }
    },
    async free(leaseMs) {
      const { rows } = await db.query(texts().workers.free, [leaseMs])
      const freed = rows.filter((row) => row.key !== null)
      const caught = [...new Set(freed.flatMap((row) => (row.crash_of === null ? [] : [row.crash_of as string])))]
      const pardoned = caught.length > 0 ? (await db.query(texts().workers.pardon, [JSON.stringify(caught)])).rows : []
      return {
        workers: Number(rows[0]?.workers ?? 0),
        keys: freed.map((row) => ({
          job: row.job as string,
          key: row.key as string,
          crashes: Number(row.crashes),
          why: row.why as FreedKey['why'],
          quarantined: row.state === 'quarantined',
        })),
        pardoned: pardoned.map((row) => ({ job: row.job as string, key: row.key as string })),
      }
    },
    async leave(holder, drained) {
      if (drained) await db.query(texts().workers.noteDrain, [JSON.stringify(drained)])
      await db.query(texts().workers.deregister, [holder])
    },
  }
}
