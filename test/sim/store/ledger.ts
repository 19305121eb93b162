// The ledger of the model: each verb as its .sql file says it.
import type { Claim, Ledger, SettleRow, TakeAnswer } from '../../../src/store/ledger.ts'
import { refusedText } from '../cast.ts'
import { sessionOf } from './app-tx.ts'
import { removeIntent } from './intents.ts'
import { byKey, uuidOf } from './order.ts'
import { isSuspect, type LedgerRow, ledgerId, newKey, type Schema, type SlotRow, slotId } from './schema.ts'
import type { Session, Statement } from './session.ts'
import { sqlError } from './sql-error.ts'
import { isAheadOf, plus, since } from './time.ts'

/** In the order in which statements lock their rows (M30). */
const inOrder = <T extends { key: string; job: string }>(rows: readonly T[]): T[] => [...rows].sort(byKey)

/** A row that nothing is known of but its claim: giving it back deletes it. */
export const isBlank = ({ failures, crashes, retryAt }: LedgerRow): boolean =>
  failures === 0 && crashes === 0 && retryAt === null

/** What a row becomes whose claim is given back; nothing is counted. */
export const givenBack = (row: LedgerRow, at: number): LedgerRow | undefined =>
  isBlank(row)
    ? undefined
    : { ...row, holder: null, take: null, state: 'retrying', solo: false, updatedAt: at, retryAt: waitedUntil(row, at) }

/** Of a claim that ends: what was taken has waited, also when the clock was set back meanwhile. */
export const waitedUntil = ({ retryAt }: LedgerRow, at: number): number | null =>
  retryAt === null ? null : Math.min(retryAt, at)

/** The ledger port. */
export function simLedger(schema: Schema): Ledger {
  const { engine, ledger } = schema
  return {
    take: (holder, claims, { suspects = false } = {}) =>
      engine.autocommit('ledger.take', (session) => take(schema, session, holder, claims, suspects), { quick: true }),
    alone: (holder, claim) => engine.autocommit('ledger.alone', (session) => alone(schema, session, holder, claim)),
    release: (holder, claims) =>
      engine.autocommit('ledger.release', (session) => release(schema, session, holder, claims), { quick: true }),
    settle: (holder, rows, tx) =>
      engine.run('ledger.settle', tx && sessionOf(tx), (session) => settle(schema, session, holder, rows)),
    fence: (holder, claims, tx) =>
      engine.within(sessionOf(tx), function* (session) {
        const held = new Set<number>()
        for (const claim of inOrder(claims)) if (yield* mine(schema, session, holder, claim)) held.add(claim.take)
        return held
      }),
    clear: (job, rows) =>
      engine.autocommit('ledger.clear', function* (session) {
        const cleared: string[] = []
        for (const { key, version } of inOrder(rows.map((row) => ({ ...row, job })))) {
          const id = ledgerId(job, key)
          const isOther = (row: LedgerRow) => row.holder === null && row.version !== null && row.version !== version
          if (!(yield* session.hold(ledger, id, isOther))) continue
          session.set(ledger, id, undefined)
          cleared.push(key)
        }
        return cleared
      }),
    remember: (rows) => engine.autocommit('ledger.remember', (session) => remember(schema, session, rows)),
    standing: async (job, keys) => {
      const at = schema.now()
      return keys.flatMap((key) => {
        const row = ledger.rows.get(ledgerId(job, key))
        if (!row) return []
        const { holder, state, version, retryAt, updatedAt } = row
        const waitMs = retryAt === null || isAheadOf(updatedAt, at) ? 0 : Math.max(0, since(retryAt, at))
        return [{ key, live: holder !== null, quarantined: state === 'quarantined', version, waitMs }]
      })
    },
  }
}

/** Locks the row of a claim where holder and take match (S3). */
function* mine(schema: Schema, session: Session, holder: string, { job, key, take }: Claim) {
  const matches = (row: LedgerRow) => row.holder === holder && row.take === take
  return yield* session.hold(schema.ledger, ledgerId(job, key), matches)
}

function* take(
  schema: Schema,
  session: Session,
  holder: string,
  claims: readonly Claim[],
  suspects: boolean,
): Statement<TakeAnswer[]> {
  const { ledger, workers } = schema
  const at = schema.now()
  // What the statement's snapshot shows; a key that changes while it waits for another is told by this.
  const before = claims.map(({ job, key }) => {
    if (key.includes('\0')) throw sqlError('22P05', 'unsupported Unicode escape sequence')
    return ledger.rows.get(ledgerId(job, key))
  })
  const registered = workers.rows.has(holder)
  const occupied = suspects && claims.some(({ job }) => schema.ledgerSuspect.has(job))
  const taken = new Map<Claim, LedgerRow>()
  if (registered && !occupied)
    for (const claim of inOrder(claims)) {
      const id = ledgerId(claim.job, claim.key)
      yield* session.lock(ledger, id)
      const row = session.get(ledger, id)
      if (row && !mayStart(row, at, suspects)) continue
      const claimed = { holder, take: claim.take, state: 'running', solo: false } as const
      const known = row ?? newKey(claim.job, claim.key, at)
      const retryAt = known.retryAt === null ? null : Math.min(known.retryAt, at)
      const next = { ...known, ...claimed, retryAt }
      session.set(ledger, id, next)
      taken.set(claim, next)
    }
  return claims.map((claim, i) => answerOf(claim, taken.get(claim), before[i], at, registered))
}

const mayStart = (row: LedgerRow, at: number, suspects: boolean) =>
  row.holder === null &&
  row.state !== 'quarantined' &&
  (row.retryAt === null || row.retryAt <= at || isAheadOf(row.updatedAt, at)) &&
  (suspects || !isSuspect(row))

function answerOf(
  { job, key }: Claim,
  taken: LedgerRow | undefined,
  before: LedgerRow | undefined,
  at: number,
  registered: boolean,
): TakeAnswer {
  return {
    job,
    key,
    verdict: taken ? 'taken' : !registered ? 'lease_lost' : refusalOf(before, at),
    waitMs:
      !taken && before && before.retryAt !== null && !isAheadOf(before.updatedAt, at) ? since(before.retryAt, at) : 0,
    failures: (taken ?? before)?.failures ?? 0,
    crashes: (taken ?? before)?.crashes ?? 0,
    version: (taken ?? before)?.version ?? null,
    together: taken?.together ?? null,
  }
}

function refusalOf(row: LedgerRow | undefined, at: number): TakeAnswer['verdict'] {
  if (row?.state === 'quarantined') return 'quarantined'
  if (!row || row.holder !== null) return 'running'
  if (row.retryAt !== null && row.retryAt > at && !isAheadOf(row.updatedAt, at)) return 'not_due'
  return isSuspect(row) ? 'suspect' : 'running'
}

function* alone(schema: Schema, session: Session, holder: string, claim: Claim): Statement<boolean> {
  const occupied = schema.ledgerSolo.has(claim.job)
  if (occupied) return false
  const row = yield* mine(schema, session, holder, claim)
  // Somebody else may have begun while this one waited for its row: the index refuses it then.
  if (!row || schema.ledgerSolo.has(claim.job)) return false
  session.set(schema.ledger, ledgerId(claim.job, claim.key), { ...row, solo: true })
  return true
}

function* release(schema: Schema, session: Session, holder: string, claims: readonly Claim[]): Statement<void> {
  const at = schema.now()
  for (const claim of inOrder(claims)) {
    const row = yield* mine(schema, session, holder, claim)
    if (row) session.set(schema.ledger, ledgerId(row.job, row.key), givenBack(row, at))
  }
}

function* settle(schema: Schema, session: Session, holder: string, rows: readonly SettleRow[]): Statement<Set<number>> {
  // What the statement's snapshot shows: an intent that commits while it waits for a claim stays, and is run again.
  const ofIntents = rows.filter(({ finish }) => finish === 'intent').map(({ key }) => key)
  const intents = new Set(ofIntents.filter((key) => session.get(schema.intents, uuidOf(key))))
  const held: { outcome: SettleRow; row: LedgerRow }[] = []
  for (const outcome of inOrder(rows)) {
    const row = yield* mine(schema, session, holder, outcome)
    if (row) held.push({ outcome, row })
  }
  const at = schema.now()
  for (const { outcome, row } of held) {
    const done = outcome.state === 'done'
    session.set(schema.ledger, ledgerId(row.job, row.key), done ? undefined : settled(row, outcome, at))
    if (done && intents.has(outcome.key)) yield* removeIntent(schema, session, uuidOf(outcome.key))
    if (done && outcome.finish === 'slot') yield* recordSlot(schema, session, outcome, at)
  }
  return new Set(held.map(({ outcome }) => outcome.take))
}

/** The slot of a key has run. */
function* recordSlot(
  { slots, slotsByKey }: Schema,
  session: Session,
  { job, key }: SettleRow,
  at: number,
): Statement<void> {
  const isIt = (row: SlotRow) => row.lane === job && row.key === key && row.state === 'waiting'
  for (const { schedule, slot } of [...slots.found(slotsByKey, key)].filter(isIt)) {
    const row = yield* session.hold(slots, slotId(schedule, slot), isIt)
    if (row) session.set(slots, slotId(schedule, slot), { ...row, state: 'ran', endedAt: at })
  }
}

function settled(row: LedgerRow, outcome: SettleRow, at: number): LedgerRow {
  const { version, failures, crashes, retryMs, error, together = null } = outcome
  if (error?.includes(refusedText)) throw sqlError('23514', 'new row for relation "ledger" violates check constraint')
  return {
    ...row,
    holder: null,
    take: null,
    solo: false,
    state: outcome.state as 'retrying' | 'quarantined',
    version,
    failures,
    crashes,
    // A suspect that failed alone did not crash: its earlier crashes were somebody else's.
    pardoned: row.solo && failures > row.failures ? crashes : Math.min(row.pardoned, crashes),
    together,
    retryAt: plus(at, retryMs),
    error,
    updatedAt: at,
  }
}

function* remember(
  schema: Schema,
  session: Session,
  rows: readonly Omit<SettleRow, 'take' | 'finish'>[],
): Statement<string[]> {
  const { ledger } = schema
  const at = schema.now()
  const written: string[] = []
  for (const { job, key, state, version, failures, crashes, retryMs, error } of inOrder(rows)) {
    const id = ledgerId(job, key)
    yield* session.unwritten(ledger, id)
    if (session.get(ledger, id)) continue
    const remembered = { state: state as 'retrying', version, failures, crashes, retryAt: plus(at, retryMs), error }
    yield* session.lock(ledger, id)
    session.set(ledger, id, { ...newKey(job, key, at), ...remembered })
    written.push(key)
  }
  return written
}
