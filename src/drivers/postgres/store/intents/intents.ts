// Intents in SQL.

import type { IntentAnswer, IntentRow, Intents } from '../../../../store/intents.ts'
import type { SqlDatabase, SqlExecutor } from '../../../sql/client.ts'
import { sqlState } from '../errors.ts'
import { divider, textArray } from '../list-encoding.ts'
import { executorOf } from '../opaque.ts'
import type { Statements } from '../statements-by-schema.ts'

export function sqlIntents(db: SqlDatabase, texts: () => Statements): Intents {
  return {
    async record(job, intents, within) {
      const tx = within && executorOf(within)
      // In a transaction nothing is tried that may fail: it would take the whole of it along.
      const quick = tx === undefined && intents.every(({ idIsNew, uniqueKey }) => idIsNew && uniqueKey === null)
      return (quick && (await recordNew(db, texts(), job, intents))) || recordSurely(db, texts(), job, intents, tx)
    },
    async startUnique(job, ids) {
      const { rows } = await db.query(texts().intents.startUnique, [job, textArray(ids)])
      return ((rows[0]?.ids as string | null | undefined) ?? '').split(',').filter(Boolean)
    },
    async yieldUnique(job, uniqueKey, tx) {
      return (
        (await (tx ? executorOf(tx) : db).query(texts().intents.releaseUniqueKey, [job, uniqueKey])).rows.length > 0
      )
    },
    async finish(ids, tx) {
      await (tx ? executorOf(tx) : db).query(texts().intents.finish, [JSON.stringify(ids)])
    },
    async openWriters() {
      const { rows } = await db.query(texts().intents.openWriters)
      return rows.map(({ pid, application, state, open_ms }) => ({
        process: pid === null ? null : Number(pid),
        application: application as string | null,
        state: state as string | null,
        openMs: open_ms === null ? null : Number(open_ms),
      }))
    },
  }
}

/** Null when one of the ids is taken after all; nothing is written then. */
async function recordNew(
  db: SqlExecutor,
  texts: Statements,
  job: string,
  intents: readonly IntentRow[],
): Promise<IntentAnswer[] | null> {
  const list = (text: (row: IntentRow) => string) => intents.map(text).join(divider)
  const times = intents.some(({ inMs, atMs }) => inMs > 0 || atMs !== null)
    ? [list(({ inMs }) => (inMs > 0 ? String(inMs) : '')), list(({ atMs }) => String(atMs ?? ''))]
    : [null, null]
  try {
    const { rows } = await db.query(texts.intents.recordNew, [
      job,
      list(({ id }) => id),
      list(({ input }) => input),
      ...times,
    ])
    const { paused, at_ms } = rows[0] as unknown as Told
    return intents.map((row) => answer(row, plain(row.id), paused, at_ms))
  } catch (error) {
    if (sqlState(error) === '23505') return null
    throw error
  }
}

/**
 * So long a statement of ours waits for another transaction that holds a name: time for one that is about to commit. It has one of the
 * few connections that beat and settle use, too, so the caller waits elsewhere (enqueue/held.ts).
 */
const lockTimeout = '5ms'

/** How often rows are recorded that were merged into an intent which has started or is gone by now. */
const triesMax = 5

/** Records rows, and those once more that were merged into an intent which did not stay: it would run without them, or not at all. */
async function recordSurely(
  db: SqlExecutor,
  texts: Statements,
  job: string,
  intents: readonly IntentRow[],
  tx: SqlExecutor | undefined,
): Promise<IntentAnswer[]> {
  const { answers, gone } = await recordAny(db, texts, job, intents, tx)
  for (let tries = 1; tries < triesMax; tries++) {
    if (tx) for (const i of await notHeld(tx, texts, job, intents, answers)) gone.add(i)
    if (gone.size === 0) break
    const again = [...gone]
    const next = await recordAny(
      db,
      texts,
      job,
      again.map((i) => intents[i] as IntentRow),
      tx,
    )
    gone.clear()
    for (const [j, i] of again.entries()) {
      answers[i] = next.answers[j] as IntentAnswer
      if (next.gone.has(j)) gone.add(i)
    }
  }
  return answers
}

/** The rows, by their places, that were merged into an intent which has started since. The others' intents wait for this transaction. */
async function notHeld(
  tx: SqlExecutor,
  texts: Statements,
  job: string,
  intents: readonly IntentRow[],
  answers: readonly IntentAnswer[],
): Promise<number[]> {
  const merged = answers.flatMap(({ id, heldBy }, i) =>
    heldBy !== id && intents[i]?.untilStart ? [{ i, heldBy }] : [],
  )
  if (merged.length === 0) return []
  const { rows } = await tx.query(texts.intents.holdMerged, [job, textArray(merged.map(({ heldBy }) => heldBy))])
  const held = new Set(rows.map(({ id }) => id))
  return merged.flatMap(({ i, heldBy }) => (held.has(heldBy) ? [] : [i]))
}

interface Recorded {
  readonly answers: IntentAnswer[]
  /** Places of rows that met an intent which is gone by now: they are not stored. */
  readonly gone: Set<number>
}

async function recordAny(
  own: SqlExecutor,
  texts: Statements,
  job: string,
  intents: readonly IntentRow[],
  tx: SqlExecutor | undefined,
): Promise<Recorded> {
  const db = tx ?? own
  const list = intents.map(
    ({ id, input, inMs, atMs, uniqueKey }) =>
      `{"id":"${id}","input":${input},"in_ms":${inMs},"at_ms":${atMs},"unique_key":${JSON.stringify(uniqueKey)}}`,
  )
  const { rows } = await db.query(texts.intents.record, [job, `[${list.join(',')}]`, tx ? null : lockTimeout])
  const { paused, at_ms, others } = rows[0] as unknown as Told
  const byId = new Map((JSON.parse(others ?? '[]') as Other[]).map((other) => [other[0], other]))
  const isUnseen = ({ id }: IntentRow) => {
    const [, added, heldBy, usedBy] = byId.get(id) ?? plain(id)
    return !added && heldBy === id && usedBy === null
  }
  const unseen = intents.filter(isUnseen)
  const late = unseen.length > 0 ? await lateIntents(db, texts, job, unseen) : nobody
  const gone = new Set<number>()
  const answers = intents.map((row, i) => {
    const [id, added, heldBy, usedBy] = byId.get(row.id) ?? plain(row.id)
    const holder = late.holders.get(row.uniqueKey ?? '')
    const owner = late.owners.get(id)
    if (unseen.length > 0 && isUnseen(row) && holder === undefined && owner === undefined) gone.add(i)
    const other: Other = [id, added, holder ?? heldBy, usedBy ?? (owner === job ? null : owner) ?? null]
    return answer(row, other, paused, at_ms)
  })
  return { answers, gone }
}

function answer(row: IntentRow, [id, added, heldBy, usedBy]: Other, paused: boolean, nowMs: number): IntentAnswer {
  // The store's clock has microseconds, and a number of that size no more than these.
  const waitMs = row.atMs === null ? row.inMs : Math.round((row.atMs - Number(nowMs)) * 1000) / 1000
  return { id, added, heldBy, usedBy, paused, waitMs: Math.max(0, waitMs) }
}

interface Told {
  readonly paused: boolean
  readonly at_ms: number
  readonly others?: string | null
}

/** An intent that was there before, or that has a unique key. */
type Other = [id: string, added: boolean, heldBy: string, usedBy: string | null]

/** One that is simply new. */
const plain = (id: string): Other => [id, true, id, null]

/** Intents that were recorded while a statement waited for them: by unique key their id, and by id their job. */
interface Late {
  readonly holders: ReadonlyMap<string, string>
  readonly owners: ReadonlyMap<string, string>
}

const nobody: Late = { holders: new Map(), owners: new Map() }

async function lateIntents(
  db: SqlExecutor,
  texts: Statements,
  job: string,
  intents: readonly IntentRow[],
): Promise<Late> {
  const uniqueKeys = intents.flatMap(({ uniqueKey }) => uniqueKey ?? [])
  const ids = intents.map(({ id }) => id)
  const { rows } = await db.query(texts.intents.recordedMeanwhile, [
    job,
    JSON.stringify(uniqueKeys),
    JSON.stringify(ids),
  ])
  const [holders, owners] = [rows.filter((row) => row.job === null), rows.filter((row) => row.job !== null)]
  return {
    holders: new Map(holders.map(({ unique_key, id }) => [unique_key as string, id as string])),
    owners: new Map(owners.map((row) => [row.id as string, row.job as string])),
  }
}
