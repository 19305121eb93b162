// What a person does with quarantined keys, in the model; both acts are in the audit.
import type { DropVerdict } from '../../../src/store/quarantine.ts'
import { removeIntent } from './intents.ts'
import { byBytes } from './order.ts'
import { tell } from './pauses.ts'
import { type LedgerRow, ledgerId, type Schema, slotId } from './schema.ts'
import type { Session, Statement } from './session.ts'

/** Forgets that keys failed. */
export function releaseQuarantined(
  schema: Schema,
  job: string,
  keys: readonly string[],
  author: string,
): Promise<string[]> {
  return schema.engine.autocommit('quarantine.release', function* (session) {
    const held = yield* holdAll(schema, session, job, keys)
    for (const row of held) {
      session.set(schema.ledger, ledgerId(job, row.key), undefined)
      told(schema, session, row, author, 'quarantine.release')
    }
    return held.map(({ key }) => key)
  })
}

/** Deletes intents and what is known of them: all or nothing. */
export function dropQuarantined(
  schema: Schema,
  job: string,
  keys: readonly string[],
  author: string,
): Promise<{ key: string; verdict: DropVerdict }[]> {
  const { engine, ledger, intents, slots } = schema
  const slotsOf = (key: string) =>
    [...slots.found(schema.slotsByKey, key)].filter(({ lane, state }) => lane === job && state === 'waiting')
  return engine.autocommit('quarantine.drop', function* (session) {
    const held = yield* holdAll(schema, session, job, keys)
    const found = new Map(held.map(({ key }) => [key, intents.rows.get(key)?.job === job || slotsOf(key).length > 0]))
    const all = [...found.values()].every((intent) => intent)
    if (all)
      for (const row of held) {
        session.set(ledger, ledgerId(job, row.key), undefined)
        if (intents.rows.get(row.key)?.job === job) yield* removeIntent(schema, session, row.key)
        for (const slot of [...slots.rows.values()].filter(({ handedIntent }) => handedIntent === row.key)) {
          const id = slotId(slot.schedule, slot.slot)
          yield* session.lock(slots, id)
          session.set(slots, id, { ...slot, reason: 'dropped' })
        }
        for (const slot of slotsOf(row.key)) {
          const id = slotId(slot.schedule, slot.slot)
          yield* session.lock(slots, id)
          session.set(slots, id, { ...slot, state: 'skipped', reason: 'dropped', endedAt: schema.now() })
        }
        told(schema, session, row, author, 'quarantine.drop')
      }
    const verdictOf = (key: string): DropVerdict => {
      const intent = found.get(key)
      return intent === undefined ? 'not_quarantined' : all ? 'dropped' : intent ? 'kept' : 'row'
    }
    return [...new Set(keys)].map((key) => ({ key, verdict: verdictOf(key) }))
  })
}

function* holdAll({ ledger }: Schema, session: Session, job: string, keys: readonly string[]): Statement<LedgerRow[]> {
  const held: LedgerRow[] = []
  for (const key of [...new Set(keys)].sort(byBytes)) {
    const isIt = ({ state, holder }: LedgerRow) => state === 'quarantined' && holder === null
    const row = yield* session.hold(ledger, ledgerId(job, key), isIt)
    if (row) held.push(row)
  }
  return held
}

function told(schema: Schema, session: Session, row: LedgerRow, author: string, action: string): void {
  const { job, key, failures, crashes } = row
  const error = row.error?.slice(0, 300) ?? null
  tell(schema, session, { at: schema.now(), author, action, job, detail: { key, failures, crashes, error } })
}
