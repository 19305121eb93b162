// Marks in SQL.

import type { Marks } from '../../../../store/canary.ts'
import type { SqlDatabase } from '../../../sql/client.ts'
import type { Statements } from '../statements-by-schema.ts'

export function sqlMarks(db: SqlDatabase, texts: () => Statements): Marks {
  return {
    async look(queue, everyMs) {
      const { rows } = await db.query(texts().canary.read, [queue, everyMs])
      const row = rows[0]
      // Somebody else made the row after this statement began: it sees that the next time.
      if (!row) return null
      return {
        mark: { epoch: Number(row.epoch), sequence: Number(row.sequence) },
        first: row.first === true,
        bumps: row.bumps === true,
        setBack: row.set_back === true,
      }
    },
    async raise(queue, { epoch, sequence }) {
      await db.query(texts().canary.raise, [queue, String(epoch), String(sequence)])
    },
    async lose(queue, { known, found, how, by }, apartMs) {
      const foundEpoch = found === null ? null : String(found.epoch)
      const { rows } = await db.query(texts().canary.declareLost, [
        queue,
        String(known.epoch),
        foundEpoch,
        how,
        by,
        apartMs,
      ])
      return rows[0] ? { epoch: Number(rows[0].epoch), sequence: 0 } : null
    },
  }
}
