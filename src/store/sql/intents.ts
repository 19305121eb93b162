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
      const { paused, at_ms } = rows[0] as { paused: boolean; at_ms: number }
      const others = JSON.parse((rows[0]?.others as string | null) ?? '[]') as Other[]
      const stolen = others.find(([, , , otherJob]) => otherJob !== null)
      if (stolen)
        throw new RegrowError(
          'id_in_use',
          `The id ${stolen[0]} belongs to an intent of "${stolen[3]}"`,
          `Nothing was stored under it for "${job}". An id names one piece of work: give another one, or none.`,
        )
      const byId = new Map(others.map((other) => [other[0], other]))
      const unseen = intents.flatMap(({ id, uniqueKey }) => {
        const [, added, heldBy] = byId.get(id) ?? plain(id)
        return added || heldBy !== id || uniqueKey === null ? [] : [uniqueKey]
      })
      const holders =
        unseen.length > 0 ? await uniqueHolders(tx ?? db, texts(), job, unseen) : new Map<string, string>()
      return intents.map(({ id, uniqueKey, atMs, inMs }) => {
        const [, added, heldBy] = byId.get(id) ?? plain(id)
        // The store's clock has microseconds, and a number of that size no more than these.
        const waitMs = Math.max(0, atMs === null ? inMs : Math.round((atMs - Number(at_ms)) * 1000) / 1000)
        return { id, added, heldBy: holders.get(uniqueKey ?? '') ?? heldBy, paused, waitMs }
      })
    },
    async finish(ids, tx) {
      await (tx ?? db).query(texts().finishIntents, [JSON.stringify(ids)])
    },
  }
}

/** An intent that was there before, or that has a unique key. */
type Other = [id: string, added: boolean, heldBy: string, otherJob: string | null]

/** One that is simply new. */
const plain = (id: string): Other => [id, true, id, null]

async function uniqueHolders(
  db: SqlExecutor,
  texts: Statements,
  job: string,
  uniqueKeys: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await db.query(texts.uniqueHolders, [job, JSON.stringify(uniqueKeys)])
  return new Map(rows.map(({ unique_key, id }) => [unique_key as string, id as string]))
}
