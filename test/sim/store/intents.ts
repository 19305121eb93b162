// Intents of the model: written once per id and once per unique key, however often the write is repeated.
import type { IntentAnswer, IntentRow, Intents } from '../../../src/store/intents.ts'
import { sessionOf } from './app-tx.ts'
import { jsonbText } from './jsonb.ts'
import { byBytes, uuidOf } from './order.ts'
import { type IntentRow as IntentRecord, ledgerId, type Schema } from './schema.ts'
import type { Session, Statement } from './session.ts'
import { instant, plus, since } from './time.ts'

/** The id of a unique key of a job. */
export const uniqueId = (job: string, uniqueKey: string) => `${job}\u0000${uniqueKey}`

/** The intents port. */
export function simIntents(schema: Schema): Intents {
  return {
    record: (job, rows, tx) =>
      schema.engine.run('intents.record', tx && sessionOf(tx), (session) =>
        record(schema, session, job, rows, tx !== undefined),
      ),
    startUnique: (job, ids) =>
      schema.engine.run('intents.startUnique', undefined, (session) => startUnique(schema, session, job, ids)),
    yieldUnique: (job, uniqueKey, tx) =>
      schema.engine.run('intents.yieldUnique', tx && sessionOf(tx), (session) =>
        yieldUnique(schema, session, job, uniqueKey),
      ),
    finish: (ids, tx) =>
      schema.engine.run('intents.finish', tx && sessionOf(tx), function* (session) {
        for (const id of [...ids].map(uuidOf).sort(byBytes)) yield* removeIntent(schema, session, id)
      }),
    openWriters: async () => [],
  }
}

function* record(
  schema: Schema,
  session: Session,
  job: string,
  given: readonly IntentRow[],
  holds: boolean,
): Statement<IntentAnswer[]> {
  const at = schema.now()
  const rows = given.map((row) => ({ ...row, id: uuidOf(row.id) }))
  const added = new Set<string>()
  for (const row of [...rows].sort(byUniqueKeyThenId))
    for (;;) {
      if (yield* insert(schema, session, job, row, at)) added.add(row.id)
      else if (holds && row.untilStart && row.uniqueKey !== null) {
        const holder = session.get(schema.uniqueKeys, uniqueId(job, row.uniqueKey))?.id
        // It started meanwhile: this row is work of its own. One that has not does not start before this transaction ends.
        if (holder && !(yield* session.hold(schema.intents, holder, ({ uniqueKey }) => uniqueKey !== null))) continue
      }
      break
    }
  const paused = schema.isPaused(job, at)
  return rows.map(({ id, uniqueKey, atMs, inMs }): IntentAnswer => {
    const holder = uniqueKey === null ? undefined : session.get(schema.uniqueKeys, uniqueId(job, uniqueKey))
    const there = session.get(schema.intents, id)
    const usedBy = there && there.job !== job ? there.job : null
    const waitMs = Math.max(0, atMs === null ? inMs : since(instant(atMs), at))
    return { id, added: added.has(id), heldBy: holder?.id ?? id, usedBy, paused, waitMs }
  })
}

/** Writers of the same unique keys wait for each other in one direction (M30); those without one come last. */
function byUniqueKeyThenId(a: IntentRow, b: IntentRow): number {
  if (a.uniqueKey === null || b.uniqueKey === null)
    return Number(a.uniqueKey === null) - Number(b.uniqueKey === null) || byBytes(a.id, b.id)
  return byBytes(a.uniqueKey, b.uniqueKey) || byBytes(a.id, b.id)
}

function* insert(schema: Schema, session: Session, job: string, row: IntentRow, at: number): Statement<boolean> {
  const { intents, uniqueKeys } = schema
  const { id, uniqueKey, atMs, inMs } = row
  const unique = uniqueKey === null ? null : uniqueId(job, uniqueKey)
  yield* session.unwritten(intents, id)
  if (session.get(intents, id)) return false
  if (unique !== null) {
    yield* session.unwritten(uniqueKeys, unique)
    if (session.get(uniqueKeys, unique)) return false
    yield* session.lock(uniqueKeys, unique)
    session.set(uniqueKeys, unique, { id })
  }
  yield* session.lock(intents, id)
  const runAt = atMs !== null ? instant(atMs) : inMs > 0 ? plus(at, inMs) : null
  const input = jsonbText(JSON.parse(row.input))
  session.set(intents, id, { id, job, input, runAt, uniqueKey, startedKey: null, createdAt: at })
  return true
}

function* startUnique(schema: Schema, session: Session, job: string, given: readonly string[]): Statement<string[]> {
  const { intents, uniqueKeys, ledger } = schema
  const ids = [...new Set(given.map(uuidOf))].sort(byBytes)
  const mine = ids.flatMap((id) => {
    const row = session.get(intents, id)?.job === job ? session.holdFree(intents, id) : undefined
    return row?.job === job ? [row] : []
  })
  const started: string[] = []
  for (const row of mine) {
    const text = row.uniqueKey ?? row.startedKey
    const claimed = (other: IntentRecord) =>
      other.id !== row.id &&
      text !== null &&
      (other.uniqueKey === text || other.startedKey === text) &&
      !(other.id > row.id && ids.includes(other.id)) &&
      typeof ledger.rows.get(ledgerId(job, other.id))?.holder === 'string'
    const others = Array.from(schema.intentsByJob.get(job) ?? [], (id) => intents.rows.get(id))
    if (others.some((other) => other !== undefined && claimed(other))) continue
    started.push(row.id)
  }
  for (const row of mine) {
    if (row.uniqueKey === null || !started.includes(row.id)) continue
    session.set(intents, row.id, { ...row, startedKey: row.uniqueKey, uniqueKey: null })
    const unique = uniqueId(job, row.uniqueKey)
    yield* session.lock(uniqueKeys, unique)
    session.set(uniqueKeys, unique, undefined)
  }
  return started
}

function* yieldUnique(schema: Schema, session: Session, job: string, uniqueKey: string): Statement<boolean> {
  const { intents, uniqueKeys, ledger } = schema
  const unique = uniqueId(job, uniqueKey)
  const id = session.get(uniqueKeys, unique)?.id
  const kept = id === undefined ? undefined : session.get(ledger, ledgerId(job, id))
  if (id === undefined || kept?.state !== 'quarantined' || kept.holder !== null) return false
  const row = yield* session.hold(intents, id, (each) => each.uniqueKey === uniqueKey)
  if (!row) return false
  session.set(intents, id, { ...row, uniqueKey: null })
  yield* session.lock(uniqueKeys, unique)
  session.set(uniqueKeys, unique, undefined)
  return true
}

/** Deletes an intent, whichever job it is of; its unique key is free with it. */
export function* removeIntent({ intents, uniqueKeys }: Schema, session: Session, id: string): Statement<void> {
  const row = yield* session.hold(intents, id, () => true)
  if (!row) return
  session.set(intents, id, undefined)
  if (row.uniqueKey === null) return
  const unique = uniqueId(row.job, row.uniqueKey)
  yield* session.lock(uniqueKeys, unique)
  session.set(uniqueKeys, unique, undefined)
}
