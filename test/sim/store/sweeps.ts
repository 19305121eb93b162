// Whose turn it is, in the model: compare-and-set on the row of the job, and what its passes found.
import type { Healed, Sweeps, Turn, TurnEnd } from '../../../src/store/sweeps.ts'
import { ordered } from './jsonb.ts'
import { byBytes } from './order.ts'
import { newSweep, type Schema, type SweepRow } from './schema.ts'
import type { Session } from './session.ts'
import { isAheadOf, plus, since, sinceSeconds } from './time.ts'

/** As in the SQL store: how long a turn lasts without a sign, and who made the last pass waits so long. */
const turnMs = 30_000
const standBackMs = 500

/** The sweeps port. */
export function simSweeps(schema: Schema): Sweeps {
  const { engine, sweeps } = schema
  return {
    declare: (jobs, { holder, due = false } = {}) =>
      engine.atOnce('sweeps.declare', (session) => {
        const at = schema.now()
        for (const { job, everyMs: exact, fingerprint = null } of jobs) {
          const row = session.get(sweeps, job)
          const everyMs = Math.round(exact)
          if (!row) {
            session.set(sweeps, job, { ...newSweep(job, at, everyMs), fingerprint })
            continue
          }
          const changed = fingerprint !== null && row.fingerprint !== fingerprint
          const turn = holder === undefined ? { holder: null, until: null } : { holder, until: plus(at, turnMs) }
          const anew = {
            ...turn,
            fingerprint,
            term: row.term + 1,
            cursor: null,
            lastHolder: null,
            passSeen: 0,
            passUnusable: 0,
          }
          const next = due || changed ? { nextAt: at } : {}
          if (row.everyMs === everyMs && !due && !changed) continue
          session.set(sweeps, job, { ...row, everyMs, ...next, ...(changed ? anew : {}) })
        }
      }),
    turn: async (holder, jobs, max) => {
      const answers = await engine.atOnce('sweeps.turn', (session) => turn(schema, session, holder, jobs, max))
      // After the turn is won, as a check follows its take.
      const at = schema.now()
      const waits = answers.flatMap(({ won, missing, waitMs }) => (won || missing ? [] : [waitMs]))
      return {
        turns: answers.flatMap(({ won }) => (won ? [{ ...won, paused: schema.isPaused(won.job, at) }] : [])),
        nextMs: Math.max(0, Math.min(...waits, Number.POSITIVE_INFINITY)),
        pausesOver: answers.flatMap(({ job, pauseOver }) => (pauseOver ? [job] : [])),
        missing: answers.flatMap(({ job, missing }) => (missing ? [job] : [])),
      }
    },
    advance: (holder, { job, term }, cursor, pushed = 0) =>
      engine.atOnce('sweeps.advance', (session) => {
        const row = sweeps.rows.get(job)
        if (row?.holder !== holder || row.term !== term) return false
        session.set(sweeps, job, { ...row, cursor, until: plus(schema.now(), turnMs) })
        const heal = healOf(schema, row)
        if (heal && pushed > 0) session.set(schema.heals, String(heal.id), { ...heal, pushed: heal.pushed + pushed })
        return true
      }),
    end: (holder, ends) =>
      engine.atOnce('sweeps.end', (session) =>
        ends.flatMap(({ turn: { job, term }, end }) => {
          const row = sweeps.rows.get(job)
          return row?.holder === holder && row.term === term ? endTurn(schema, session, row, end) : []
        }),
      ),
    makeDue: (jobs, { anew = false, ramped = false } = {}) =>
      engine.atOnce('sweeps.makeDue', (session) => {
        const at = schema.now()
        for (const job of new Set(jobs)) {
          const row = sweeps.rows.get(job)
          if (row) session.set(sweeps, job, { ...madeDue(row, at, anew), ...(ramped ? { rampedAt: at } : {}) })
        }
      }),
    noProgress: (job, count) =>
      engine.atOnce('sweeps.noProgress', (session) => {
        const row = sweeps.rows.get(job)
        if (row) session.set(sweeps, job, { ...row, stalled: row.stalled + count })
      }),
  }
}

/** The loss that a sweep brings back, while it is not over. */
function healOf({ heals }: Schema, { heal }: SweepRow) {
  const row = heal === null ? undefined : heals.rows.get(String(heal))
  return row?.endedAt === null ? row : undefined
}

interface TurnAnswer {
  readonly job: string
  readonly won: Omit<Turn, 'paused'> | null
  readonly waitMs: number
  readonly pauseOver: boolean
  /** It has no row. */
  readonly missing?: true
}

function turn(schema: Schema, session: Session, holder: string, jobs: readonly string[], max: number): TurnAnswer[] {
  const { sweeps, pauses } = schema
  const at = schema.now()
  const isOver = (job: string) => {
    const until = pauses.rows.get(job)?.until ?? null
    return until !== null && until <= at
  }
  const over = new Set(jobs.filter(isOver))
  const standBack = (row: SweepRow) => (row.lastHolder === holder ? standBackMs : 0)
  const isDue = (row: SweepRow | undefined): row is SweepRow =>
    row !== undefined &&
    (row.holder === null || row.holder === holder || (row.until !== null && row.until <= at) || isTurnAhead(row, at)) &&
    (plus(row.nextAt, standBack(row)) <= at || isDueAhead(row, at)) &&
    !isOver(row.job)
  // A pause that a clock wrote which is set back since keeps its length.
  for (const [job, pause] of pauses.rows)
    if (pause.until !== null && isAheadOf(pause.since, at))
      session.set(pauses, job, { ...pause, since: at, until: plus(pause.until, -since(pause.since, at)) })
  const due = jobs.map((job) => sweeps.rows.get(job)).filter(isDue)
  due.sort((a, b) => Number(a.errors > 0) - Number(b.errors > 0) || a.nextAt - b.nextAt || byBytes(a.job, b.job))
  const won = new Set(due.slice(0, max).map(({ job }) => job))
  return jobs.map((job): TurnAnswer => {
    const row = sweeps.rows.get(job)
    if (!row) return { job, won: null, waitMs: 0, pauseOver: over.has(job), missing: true }
    if (!won.has(job))
      return { job, won: null, waitMs: waitOf(row, at, standBack(row), holder), pauseOver: over.has(job) }
    const term = row.term + 1
    const nextAt = Math.min(row.nextAt, at)
    session.set(sweeps, job, { ...row, holder, term, until: plus(at, turnMs), lastAttemptAt: at, nextAt })
    return { job, won: turnOf(row, term, at), waitMs: 0, pauseOver: false }
  })
}

/** Longer than a turn lasts, or later than the interval allows: the clock was set back. */
const isTurnAhead = ({ until }: SweepRow, at: number) => until !== null && isAheadOf(until, plus(at, turnMs))
const isDueAhead = ({ nextAt, everyMs }: SweepRow, at: number) =>
  everyMs !== null && isAheadOf(nextAt, plus(at, everyMs * 1.2))

/** In seconds first, as the statement adds them. */
function waitOf(row: SweepRow, at: number, standBack: number, holder: string): number {
  const due = sinceSeconds(row.nextAt, at) + standBack / 1_000
  const free = row.holder === null || row.holder === holder || row.until === null ? due : sinceSeconds(row.until, at)
  return Math.max(due, free) * 1_000
}

const turnOf = (row: SweepRow, term: number, at: number): Omit<Turn, 'paused'> => ({
  job: row.job,
  term,
  cursor: row.cursor,
  auditedMs: row.auditedAt === null ? null : since(at, row.auditedAt),
  rampedMs: row.rampedAt === null ? null : since(at, row.rampedAt),
  full: row.dropped > 0,
  errors: row.errors,
  atMs: at,
  sample: row.sample ?? {},
})

function endTurn(schema: Schema, session: Session, row: SweepRow, end: TurnEnd): Healed[] {
  const { sweeps, heals, pauses } = schema
  const at = schema.now()
  const { job, passSeen } = row
  session.set(sweeps, job, ended(row, end, at))
  const pause = pauses.rows.get(job)
  if (pause?.backlog === null && end.finished) session.set(pauses, job, { ...pause, backlog: passSeen + end.seen })
  const heal = row.heal === null ? undefined : session.get(heals, String(row.heal))
  if (heal?.endedAt !== null) return []
  const over = end.broughtBack === true && heal.jobsLeft <= 1
  const pushed = heal.pushed + end.pushed - (end.counted ?? 0)
  const jobsLeft = heal.jobsLeft - (end.broughtBack ? 1 : 0)
  session.set(heals, String(heal.id), { ...heal, pushed, jobsLeft, endedAt: over ? at : null })
  return over ? [{ epoch: heal.epoch, pushed, tookMs: since(at, heal.at) }] : []
}

function ended(row: SweepRow, end: TurnEnd, at: number): SweepRow {
  const { finished = false, error, seen } = end
  const estimate = end.estimate ?? null
  const isDueAgain = row.lastAttemptAt !== null && row.nextAt > row.lastAttemptAt
  return {
    ...row,
    holder: null,
    until: null,
    lastHolder: row.holder,
    cursor: end.cursor,
    everyMs: end.everyMs === undefined ? row.everyMs : Math.round(end.everyMs),
    nextAt: isDueAgain ? row.nextAt : plus(at, end.nextMs),
    lastSuccessAt: error === null ? at : row.lastSuccessAt,
    auditedAt: end.audited ? at : row.auditedAt,
    heal: end.broughtBack ? null : row.heal,
    errors: error === null ? 0 : row.errors + 1,
    passSeen: finished ? 0 : row.passSeen + (end.passed ?? seen),
    ...unusable(row, end),
    pending: finished ? row.passSeen + seen : estimate !== null ? Math.max(estimate, seen) : row.pending,
    pendingEstimated: finished ? false : row.pendingEstimated || estimate !== null,
    pendingAt: finished || estimate !== null ? at : row.pendingAt,
    oldestAt: error !== null ? row.oldestAt : oldest(row, end.oldestMs ?? null, at),
    sample: error !== null ? row.sample : end.sample ? ordered(end.sample) : null,
    dropped: end.dropped ?? 0,
    noProgress: finished ? row.stalled : row.noProgress,
    stalled: finished ? 0 : row.stalled,
    lastError: error,
    seen,
    pushed: end.pushed,
    held: end.held,
    tookMs: Math.round(end.tookMs),
  }
}

/** Counted by whole passes; one that is not over raises the count only. */
function unusable(row: SweepRow, { finished = false, unusable: found = null }: TurnEnd) {
  const sofar = row.passUnusable + (found?.count ?? 0)
  const kept = !finished || row.passUnusable > 0 ? row.unusableKey : null
  return {
    unusable: finished ? sofar : Math.max(row.unusable, sofar),
    unusableKey: found ? found.key : kept,
    passUnusable: finished ? 0 : sofar,
  }
}

/** The oldest row is that of the whole pass, in however many turns it is made. */
function oldest(row: SweepRow, oldestMs: number | null, at: number): number | null {
  const times = [oldestMs === null ? null : plus(at, -oldestMs), row.passSeen > 0 ? row.oldestAt : null]
  const known = times.filter((time) => time !== null)
  return known.length > 0 ? Math.min(...known) : null
}

/** From the beginning its turn is taken from a pass, unless it has only just begun there. */
function madeDue(row: SweepRow, at: number, anew: boolean): SweepRow {
  const isNew =
    row.holder !== null && row.cursor === null && row.lastAttemptAt !== null && row.lastAttemptAt > plus(at, -1_000)
  if (!anew || isNew) return { ...row, nextAt: at }
  return { ...row, nextAt: at, cursor: null, holder: null, until: null, lastHolder: null, passSeen: 0, passUnusable: 0 }
}
