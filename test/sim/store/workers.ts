// The living, in the model: registering, beating and freeing as their .sql files say it.
import type { Freed, FreedKey, Workers } from '../../../src/store/workers.ts'
import { givenBack, waitedUntil } from './ledger.ts'
import { byBytes, byKey } from './order.ts'
import { isSuspect, type LedgerRow, ledgerId, newPulse, onePulse, type PulseRow, type Schema } from './schema.ts'
import type { Session } from './session.ts'
import { isAheadOf, plus, since } from './time.ts'

/** The workers port. */
export function simWorkers(schema: Schema): Workers {
  const { engine, workers, sweeps } = schema
  return {
    register: ({ holder, host, pid, jobs }, leaseMs) =>
      engine.atOnce('workers.register', (session) => {
        const at = schema.now()
        movePulse(schema, session, at, leaseMs)
        if (!workers.rows.has(holder))
          session.set(workers, holder, {
            ...{ id: holder, host, pid, jobs, startedAt: at, beatAt: at, stuck: 0 },
            leaseMs: Math.round(leaseMs),
          })
      }),
    beat: (holder, known, highestTake, leaseMs, stuck = 0) =>
      engine.atOnce(
        'workers.beat',
        (session) => {
          const at = schema.now()
          const me = workers.rows.get(holder)
          if (me) {
            movePulse(schema, session, at, leaseMs)
            session.set(workers, holder, { ...me, beatAt: at, stuck, leaseMs: Math.round(leaseMs) })
          }
          const lost = unknownClaims(schema, session, holder, known, highestTake)
          for (const row of lost) session.set(schema.ledger, ledgerId(row.job, row.key), givenBack(row, at))
          return { alive: me !== undefined, givenBack: lost.length }
        },
        { quick: true },
      ),
    free: async (leaseMs) => {
      const { freed, dead } = await engine.atOnce('workers.free', (session) => {
        return free(schema, session, leaseMs)
      })
      const caught = new Set(freed.flatMap(({ crashOf }) => crashOf ?? []))
      const pardoned = caught.size > 0 ? await pardon(schema, caught) : []
      return { workers: dead, keys: freed.map(({ crashOf: _, ...key }) => key), pardoned }
    },
    leave: (holder, drained = []) =>
      engine.atOnce('workers.leave', (session) => {
        for (const job of drained) schema.drained.set(job, schema.now())
        for (const [job, sweep] of sweeps.rows)
          if (sweep.holder === holder) session.set(sweeps, job, { ...sweep, holder: null, until: null })
        session.set(workers, holder, undefined)
      }),
  }
}

/** After a silence of half a lease nobody whose lease that is, and who lived before it, may be declared dead for a whole one (M43). */
function movePulse({ pulse, workers }: Schema, session: Session, at: number, leaseMs: number): void {
  const row = pulse.rows.get(onePulse)
  if (!row) {
    session.set(pulse, onePulse, newPulse(at, plus(at, leaseMs)))
    return
  }
  const fleet = [...workers.rows.values()].map(({ beatAt, leaseMs: own }) => ({ beatAt, lease: own ?? leaseMs }))
  const silent = (lease: number) => row.beatAt < plus(at, -lease / 2)
  const leases = fleet
    .filter(({ beatAt, lease }) => beatAt >= plus(row.beatAt, -lease) && silent(lease))
    .map(({ lease }) => lease)
  if (silent(leaseMs)) leases.push(leaseMs)
  // A grace further ahead is of a clock that is set back since.
  const most = plus(at, Math.max(leaseMs, ...fleet.map(({ lease }) => lease)))
  const graceUntil = leases.length > 0 ? plus(at, Math.max(...leases)) : Math.min(row.graceUntil, most)
  const back = isAheadOf(row.beatAt, at) ? { setBackAt: at, setBackMs: Math.round(since(row.beatAt, at)) } : {}
  session.set(pulse, onePulse, { ...row, beatAt: at, graceUntil, ...back })
}

/** Claims of the holder whose take is neither known nor awaited (M31); those that are locked are left for the next beat. */
function unknownClaims(
  { ledger, ledgerByHolder }: Schema,
  session: Session,
  holder: string,
  known: readonly number[],
  highestTake: number,
): LedgerRow[] {
  const isKnown = new Set(known)
  const lost = [...ledger.found(ledgerByHolder, holder)].filter(
    ({ take }) => take !== null && take <= highestTake && !isKnown.has(take),
  )
  return lost.sort(byKey).filter(({ job, key }) => session.holdFree(ledger, ledgerId(job, key)))
}

type FreedRow = FreedKey & { readonly crashOf: string | null }

function free(schema: Schema, session: Session, leaseMs: number): { freed: FreedRow[]; dead: number } {
  const { workers, sweeps, ledger, ledgerByHolder, pulse } = schema
  const at = schema.now()
  const allDead = leaseMs < 0
  const pulsed = pulse.rows.get(onePulse)
  // A beat of a clock that is set back since counts as one of now.
  for (const row of [...workers.rows.values()])
    if (isAheadOf(row.beatAt, at)) session.set(workers, row.id, { ...row, beatAt: at })
  const isOpen = pulsed !== undefined && at >= pulsed.graceUntil && pulsed.beatAt >= plus(at, -leaseMs / 2)
  if (!allDead && !isOpen) return { freed: [], dead: 0 }
  const dead = new Set<string>()
  for (const { id, beatAt: beat, leaseMs: own } of workers.rows.values()) {
    const lease = own ?? leaseMs
    if (allDead || (beat < plus(at, -lease) && (pulsed as PulseRow).beatAt >= plus(at, -lease / 2))) dead.add(id)
  }
  // Claims of a holder without a worker row are freed, too: its take may have committed after its row was removed.
  const gone = [...ledgerByHolder.keys()].filter((holder) => dead.has(holder) || !workers.rows.has(holder))
  const lost = gone.sort(byBytes).flatMap((holder) => [...ledger.found(ledgerByHolder, holder)].sort(byKey))
  for (const id of dead) session.set(workers, id, undefined)
  for (const [job, sweep] of sweeps.rows)
    if (sweep.holder !== null && (allDead || dead.has(sweep.holder)))
      session.set(sweeps, job, { ...sweep, holder: null, until: null })
  const freed = lost
    .filter(({ job, key }) => session.holdFree(ledger, ledgerId(job, key)))
    .map((row): FreedRow => {
      const next = freedRow(row, at)
      session.set(ledger, ledgerId(row.job, row.key), next)
      return {
        job: row.job,
        key: row.key,
        crashes: next.crashes,
        why: whyOf(row),
        quarantined: next.state === 'quarantined',
        crashOf: row.solo ? next.crashOf : null,
      }
    })
  return { freed, dead: dead.size }
}

const whyOf = (row: LedgerRow): FreedKey['why'] => (row.solo ? 'alone' : isSuspect(row) ? 'waited' : 'crashed')

const ended = { holder: null, take: null, solo: false, state: 'retrying' } as const

/** The first crash is free, from the second on a key is a suspect; three crashes alone quarantine it. */
function freedRow(row: LedgerRow, at: number): LedgerRow {
  const why = whyOf(row)
  const crashes = row.crashes + (why === 'waited' ? 0 : 1)
  const free = { ...row, ...ended, updatedAt: at, retryAt: waitedUntil(row, at), crashes } as const
  if (why === 'waited') return free
  if (why === 'crashed') return { ...free, crashOf: row.holder }
  const soloCrashes = row.soloCrashes + 1
  return {
    ...free,
    soloCrashes,
    state: soloCrashes >= 3 ? 'quarantined' : 'retrying',
    error: `The process died while this key ran alone, ${soloCrashes} of 3 times`,
    retryAt: plus(at, 2 ** soloCrashes * 1_000),
  }
}

/** Those that died with a key that was caught crashing alone are no longer suspects for that. */
function pardon(schema: Schema, caught: ReadonlySet<string>): Promise<Freed['pardoned']> {
  const { engine, ledger, ledgerByCrash } = schema
  return engine.atOnce('workers.pardon', (session) => {
    const pardoned: { job: string; key: string }[] = []
    for (const crashOf of caught)
      for (const row of [...ledger.found(ledgerByCrash, crashOf)].sort(byKey)) {
        const id = ledgerId(row.job, row.key)
        if (row.holder !== null || row.state === 'quarantined' || row.soloCrashes > 0) continue
        if (!session.holdFree(ledger, id)) continue
        session.set(ledger, id, { ...row, pardoned: row.pardoned + 1, crashOf: null })
        pardoned.push({ job: row.job, key: row.key })
      }
    return pardoned
  })
}
