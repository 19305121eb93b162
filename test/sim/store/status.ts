// What a person asks, in the model: reads of every table.
import type { JobRow, StoreStatus, SweepRow as Sweep } from '../../../src/store/status.ts'
import { byBytes } from './order.ts'
import { pauseOf } from './pauses.ts'
import { isLive, type LedgerRow, onePulse, type Schema, type SweepRow } from './schema.ts'
import { instant } from './time.ts'

const date = (ms: number) => new Date(ms)
const dateOrNull = (ms: number | null) => (ms === null ? null : new Date(ms))

/** The same error that the worker writes for a run without progress. */
const noProgressText = 'It ran and returned, but the row is still pending'

export function simStatus(schema: Schema): StoreStatus {
  const { workers, heals, ledgerQuarantined } = schema
  return {
    jobs: async (leaseMs) => {
      const at = schema.now()
      const jobs = namedJobs(schema, at).map((job) => jobOf(schema, job, at, leaseMs))
      const row = schema.pulse.rows.get(onePulse)
      const { setBackAt = null, setBackMs = null } = row ?? {}
      const setBack = setBackAt === null ? null : { at: date(setBackAt), byMs: Number(setBackMs) }
      return { at: date(instant(at)), jobs, pulse: { missing: row === undefined, setBack } }
    },
    workers: async (leaseMs) => {
      const at = schema.now()
      return [...workers.rows.values()]
        .sort((a, b) => a.startedAt - b.startedAt || byBytes(a.id, b.id))
        .map((row) => ({
          id: row.id,
          host: row.host,
          pid: row.pid,
          jobs: Object.keys(row.jobs).sort(byBytes),
          startedAt: date(row.startedAt),
          beatAt: date(row.beatAt),
          live: isLive(row, at, leaseMs),
          leaseMs: row.leaseMs,
          running: schema.ledgerByHolder.get(row.id)?.size ?? 0,
          stuck: row.stuck,
        }))
    },
    queues: async () =>
      [...schema.marks.rows.values()]
        .sort((a, b) => b.bumpedAt - a.bumpedAt || byBytes(a.queue, b.queue))
        .map(({ queue, bumpedAt }) => ({ name: queue, lookedAt: date(bumpedAt) })),
    heals: async (limit) =>
      [...heals.rows.values()]
        .sort((a, b) => b.at - a.at || b.id - a.id)
        .slice(0, limit)
        .map(({ queue, epoch, at, how, noticedBy, pushed, jobsLeft, endedAt }) => ({
          ...{ queue, epoch, at: date(at), how, noticedBy, pushed, jobsLeft },
          endedAt: dateOrNull(endedAt),
        })),
    names: async (job) => {
      const asked = schema.intentsByJob.has(job) || ledgerQuarantined.has(job) ? [job] : []
      return sorted([...schema.sweeps.rows.keys(), ...schema.pauses.rows.keys(), ...handledJobs(schema), ...asked])
    },
    key: () => unasked('why a key does not run'),
    declarations: () => unasked('what workers declare'),
    time: async () => instant(schema.now()),
  }
}

const sorted = (names: readonly string[]) => [...new Set(names)].sort(byBytes)

const handledJobs = ({ workers }: Schema) => [...workers.rows.values()].flatMap(({ jobs }) => Object.keys(jobs))

function namedJobs(schema: Schema, at: number): string[] {
  const { sweeps, ledgerByJob, intentsByJob, pauses } = schema
  const paused = [...pauses.rows.keys()].filter((job) => schema.isPaused(job, at))
  return sorted([
    ...sweeps.rows.keys(),
    ...ledgerByJob.keys(),
    ...intentsByJob.keys(),
    ...handledJobs(schema),
    ...paused,
  ])
}

function jobOf(schema: Schema, job: string, at: number, leaseMs: number): JobRow {
  const { ledger, workers, sweeps, pauses } = schema
  const rows = [...ledger.found(schema.ledgerByJob, job)]
  const count = (matches: (row: LedgerRow) => boolean) => rows.filter(matches).length
  const unowned = rows.flatMap(({ holder, updatedAt }) => {
    if (holder === null) return []
    const worker = workers.rows.get(holder)
    return !worker ? [updatedAt] : isLive(worker, at, leaseMs) ? [] : [worker.beatAt]
  })
  const sweep = sweeps.rows.get(job)
  const pause = pauses.rows.get(job)
  const stuck = count(
    ({ error }) => error !== null && Buffer.byteLength(error) < 1_996 && error.startsWith(noProgressText),
  )
  return {
    job,
    running: count(({ state }) => state === 'running'),
    retrying: count(({ state }) => state === 'retrying'),
    quarantined: count(({ state }) => state === 'quarantined'),
    intents: schema.intentsByJob.get(job)?.size ?? 0,
    workers: [...workers.rows.values()].filter(
      (row) => isLive(row, at, leaseMs) && (job === 'regrow.slots' || Object.hasOwn(row.jobs, job)),
    ).length,
    drainedAt: dateOrNull(schema.drained.get(job) ?? null),
    noProgress: stuck + (sweep ? Math.max(sweep.noProgress, sweep.stalled) : 0),
    unowned: unowned.length === 0 ? null : { count: unowned.length, since: date(Math.min(...unowned)) },
    sweep: sweep ? sweepOf(sweep, at) : null,
    pause: pause && schema.isPaused(job, at) ? pauseOf(pause) : null,
  }
}

function sweepOf(row: SweepRow, at: number): Sweep {
  const { lastError, seen, pushed, held, tookMs, dropped, everyMs, errors, pending } = row
  return {
    ...{ lastError, seen, pushed, held, tookMs, dropped, everyMs, errors },
    nextAt: date(row.nextAt),
    sweeping: row.holder !== null && row.until !== null && row.until > at,
    lastAttemptAt: dateOrNull(row.lastAttemptAt),
    lastSuccessAt: dateOrNull(row.lastSuccessAt),
    pending:
      pending === null ? null : { count: pending, estimated: row.pendingEstimated, at: date(row.pendingAt as number) },
    oldestAt: dateOrNull(row.oldestAt),
    unusable: row.unusable > 0 ? { count: row.unusable, key: row.unusableKey as string } : null,
    healing: row.heal !== null,
  }
}

/** Nobody simulated asks this. */
const unasked = async (what: string): Promise<never> => {
  throw new Error(`a person asks ${what}, and no person is simulated`)
}
