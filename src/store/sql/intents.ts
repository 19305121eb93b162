// Intents in SQL.
import { RegrowError } from '../../base/errors.ts'
import type { SqlDatabase, SqlExecutor } from '../executor.ts'
import type { Intents } from '../intents.ts'
import type { Statements } from './schema.ts'

export function sqlIntents(db: SqlDatabase, texts: () => Statements): Intents {
  return {
    async record(job, intents, tx) {
      const list = intents.map(
        ({ id, input, inMs, atMs, uniqueKey }) =>
          `{"id":"${id}","input":${input},"in_ms":${inMs},"at_ms":${atMs},"unique_key":${JSON.stringify(uniqueKey)}}`,
      )
      const { rows } = await (tx ?? db).query(texts().recordIntents, [job, `[${list.join(',')}]`])
      const stolen = rows.find(({ other_job }) => other_job !== null)
      if (stolen)
        throw new RegrowError(
          'id_in_use',
          `The id ${stolen.id} belongs to an intent of "${stolen.other_job}"`,
          `Nothing was stored under it for "${job}". An id names one piece of work: give another one, or none.`,
        )
      const uniqueKeys = new Map(intents.map(({ id, uniqueKey }) => [id, uniqueKey]))
      const unseen = rows.flatMap(({ id, added, held_by }) => {
        const uniqueKey = uniqueKeys.get(id as string) ?? null
        return added || held_by !== id || uniqueKey === null ? [] : [uniqueKey]
      })
      const holders =
        unseen.length > 0 ? await uniqueHolders(tx ?? db, texts(), job, unseen) : new Map<string, string>()
      return rows.map((row) => ({
        id: row.id as string,
        added: row.added as boolean,
        heldBy: holders.get(uniqueKeys.get(row.id as string) ?? '') ?? (row.held_by as string),
        paused: row.paused as boolean,
        waitMs: Math.max(0, Number(row.wait_ms)),
      }))
    },
    async finish(ids, tx) {
      await (tx ?? db).query(texts().finishIntents, [JSON.stringify(ids)])
    },
  }
}

async function uniqueHolders(
  db: SqlExecutor,
  texts: Statements,
  job: string,
  uniqueKeys: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await db.query(texts.uniqueHolders, [job, JSON.stringify(uniqueKeys)])
  return new Map(rows.map(({ unique_key, id }) => [unique_key as string, id as string]))
}
