// What a person asks, in the model: reads of every table, and the two acts on quarantined keys.
import type { Inspector, JobRow, QuarantinedKey, SweepRow as Sweep } from '../../../src/store/inspector.ts'
import { byBytes } from './order.ts'
import { pauseOf } from './pauses.ts'
import { dropQuarantined, releaseQuarantined } from './quarantine.ts'
import { isLive, type LedgerRow, ledgerId, onePulse, type Schema, type SweepRow } from './schema.ts'
import { instant } from './time.ts'

const date = (ms: number) => new Date(ms)
const dateOrNull = (ms: number | null) => (ms === null ? null : new Date(ms))

/** The same error that the worker writes for a run without progress. */
const noProgressText = 'It ran and returned, but the row is still pending'

const keyOf = (row: LedgerRow, error: string | null): QuarantinedKey => ({
  job: row.job,
  key: row.key,
  version: row.version,
  failures: row.failures,
  crashes: row.crashes,
  error,
  since: date(row.updatedAt),
})

const firstOf = (text: string | null, characters: number) =>
  text === null || text.length <= characters ? text : [...text].slice(0, characters).join('')

/** The inspector port. */
export function simInspector(schema: Schema): Inspector {
  const { ledger, workers, heals, intents, ledgerQuarantined } = schema
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
    quarantined: async (job, after, limit) => {
      const jobs = job === null ? [...ledgerQuarantined.keys()] : [job]
      const isAfter = (row: LedgerRow) =>
        after === null || byBytes(row.job, after.job) > 0 || (row.job === after.job && byBytes(row.key, after.key) > 0)
      return jobs
        .flatMap((name) => [...ledger.found(ledgerQuarantined, name)])
        .filter(isAfter)
        .sort((a, b) => byBytes(a.job, b.job) || byBytes(a.key, b.key))
        .slice(0, limit)
        .map((row) => keyOf(row, firstOf(row.error, 300)))
    },
    find: async (job, key) => {
      const row = ledger.rows.get(ledgerId(job, key))
      if (row?.state !== 'quarantined') return null
      const intent = intents.rows.get(key)
      if (intent?.job !== job) return { ...keyOf(row, row.error), intent: null }
      const { input, createdAt, runAt, uniqueKey, startedKey } = intent
      const told = { input, createdAt: date(createdAt), runAt: dateOrNull(runAt), uniqueKey: uniqueKey ?? startedKey }
      return { ...keyOf(row, row.error), intent: told }
    },
    release: (job, keys, author) => releaseQuarantined(schema, job, keys, author),
    drop: (job, keys, author) => dropQuarantined(schema, job, keys, author),
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
