// Intents in SQL.
import type { SqlDatabase } from '../executor.ts'
import type { Intents } from '../intents.ts'
import { statements } from './statements.gen.ts'

export function sqlIntents(db: SqlDatabase): Intents {
  return {
    async record(job, intents, tx) {
      const list = intents.map(
        ({ id, input, inMs, atMs, uniqueKey }) =>
          `{"id":"${id}","input":${input},"in_ms":${inMs},"at_ms":${atMs},"unique_key":${JSON.stringify(uniqueKey)}}`,
      )
      const { rows } = await (tx ?? db).query(statements.recordIntents, [job, `[${list.join(',')}]`])
      return rows.map((row) => ({
        id: row.id as string,
        added: row.added as boolean,
        heldBy: row.held_by as string,
        paused: row.paused as boolean,
        waitMs: Math.max(0, Number(row.wait_ms)),
      }))
    },
  }
}
