// Lower arrow, because a person asked: whole passes of some jobs now, or what they would do.
// In: jobs. Out: one report per job; a broken query is in its report and stops no other job.
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import { checkOptions, flag, longOptions, texts } from '../base/options.ts'
import type { ProgressOptions } from '../base/progress.ts'
import { type Random, spread } from '../base/random.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import type { UnusableKeys } from '../job/key.ts'
import { storable } from '../job/outcome.ts'
import { unknownJob } from '../job/unknown-job.ts'
import type { Fill, Push } from '../queue/push.ts'
import type { Queue } from '../queue/queue.ts'
import type { HeldCounts } from '../store/diagnosis.ts'
import type { Source } from '../store/source.ts'
import type { Store } from '../store/store.ts'
import { dryRun } from './dry-run.ts'
import { pass } from './pass.ts'
import { pageTimeoutMs, unusableTold } from './pass-step.ts'

/** What to sweep. */
export interface SweepOptions extends ProgressOptions {
  /** Names of jobs. Defaults to all that the app declares. */
  jobs?: readonly string[]
  /** Reads the pages and pushes nothing. Defaults to false. */
  dryRun?: boolean
}

/** What a sweep of one job found. */
export interface SweepReport {
  readonly job: string
  readonly dryRun: boolean
  /** Rows that the pending query returned. */
  readonly seen: number
  /** Of these, keys that may start now or before the next sweep. */
  readonly eligible: number
  /** Of these, keys that are running, quarantined, or wait for longer. */
  readonly held: number
  /** Of these, rows whose text is too long for a key: they never run. */
  readonly unusable: number
  /** Of a dry run: `held`, by why. Null: of a pass, or where only the source itself can read its rows. */
  readonly heldBy: HeldCounts | null
  /** Of a dry run: eligible keys that have a hint already. Null: of a pass, or the queue cannot tell. */
  readonly hinted: number | null
  /** New hints. Of a dry run: those that would be new; where `hinted` is null, at least, going by the number of hints. */
  readonly pushed: number
  /** The first keys that are eligible, five at most; of a dry run only. */
  readonly keys: readonly string[]
  /** Paused: its rows are counted, and nothing is hinted until it is resumed. */
  readonly paused: boolean
  /** False: the queue was full, or `signal` ended it; workers go on from there. */
  readonly finished: boolean
  /** `signal` ended it before its end. */
  readonly stopped: boolean
  /** Why the pass failed; null when it did not. */
  readonly error: string | null
  readonly tookMs: number
}

export interface OnDemandPorts {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events<EventMap>
  readonly store: Pick<Store, 'sweeps' | 'ledger' | 'pauses' | 'diagnosis'>
  readonly queue: Pick<Queue, 'count' | 'inspection' | 'shared'>
  readonly push: Push
  readonly fill: Fill
  readonly source: (job: Job) => Source
  /** Every job that the app declares. */
  readonly jobs: readonly Job[]
  /** The worker that sweeps: freeing it frees its turns. Without one, a turn of a process that dies runs out by itself. */
  readonly holder?: (() => string) | undefined
}

/** Sweeps jobs one after the other. A dry run changes nothing anywhere. */
export async function sweepOnDemand(ports: OnDemandPorts, options: SweepOptions = {}): Promise<SweepReport[]> {
  checkOptions('sweep()', options, { jobs: texts, dryRun: flag, ...longOptions }, 'Nothing was swept.')
  const names = ports.jobs.map(({ name }) => name)
  const jobs = (options.jobs ?? names).map((name) => {
    const job = ports.jobs.find((each) => each.name === name)
    if (!job) throw unknownJob(name, names)
    return job
  })
  const pauses = new Set((await ports.store.pauses.list()).map(({ job }) => job))
  const reports: SweepReport[] = []
  for (const job of jobs) {
    if (options.signal?.aborted) break
    const startedAt = ports.clock.now()
    const paused = pauses.has(job.name)
    const found = await (options.dryRun ? look : passes)(ports, job, paused, options).catch((error: unknown) => ({
      ...nothing,
      error: storable(messageOf(error)),
    }))
    const tookMs = Math.round(ports.clock.now() - startedAt)
    const stopped = found.error === null && !found.finished && options.signal?.aborted === true
    reports.push({ job: job.name, dryRun: options.dryRun ?? false, ...found, paused, stopped, tookMs })
  }
  return reports
}

type Found = Omit<SweepReport, 'job' | 'dryRun' | 'paused' | 'stopped' | 'tookMs'>

const nothing: Found = {
  ...{ seen: 0, eligible: 0, held: 0, unusable: 0, heldBy: null, hinted: null, pushed: 0, keys: [] },
  ...{ finished: false, error: null },
}

/** Reads all pages; what a pass would clear or push stays as it is. */
async function look(
  { source, queue, store }: OnDemandPorts,
  job: Job,
  paused: boolean,
  long: ProgressOptions,
): Promise<Found> {
  return {
    ...nothing,
    ...(await dryRun(
      { source: source(job), queue, diagnosis: job.custom ? undefined : store.diagnosis },
      job,
      paused,
      long,
    )),
  }
}

/**
 * One whole pass, however many budgets it takes. By its turn if that can be got, so that cursor and counts are stored;
 * beside somebody else's pass otherwise: a hint pushed twice is one hint.
 */
async function passes(ports: OnDemandPorts, job: Job, paused: boolean, long: ProgressOptions): Promise<Found> {
  const { clock, random, events, queue, store } = ports
  const { source, fill } = await counted(ports, job, long)
  const holder = ports.holder?.() ?? random.hex(16)
  const startedAt = clock.now()
  await store.sweeps.declare([{ job: job.name, everyMs: job.sweepEveryMs }])
  await store.sweeps.makeDue([job.name], { anew: true })
  const [turn] = (await store.sweeps.turn(holder, [job.name], 1)).turns
  const total = { seen: 0, pushed: 0, held: 0, unusable: 0 }
  let unusable: UnusableKeys | null = null
  let cursor: string | null = null
  let error: unknown
  let finished = false
  try {
    const advance = async (at: string | null) => {
      if (turn) await store.sweeps.advance(holder, turn, at)
      return true
    }
    const signal = long.signal ?? new AbortController().signal
    for (;;) {
      const part = await pass(
        { ...ports, ledger: store.ledger, source, fill, advance },
        job,
        { cursor, paused, rampedMs: null, epoch: null, brief: 'none' },
        signal,
      )
      total.seen += part.seen
      total.pushed += part.pushed
      total.held += part.held
      total.unusable += part.unusable?.count ?? 0
      unusable ??= part.unusable
      cursor = part.cursor
      finished = part.ended === 'finished'
      if (part.ended === 'failed') error = part.error
      if (part.ended !== 'budget') break
    }
  } catch (thrown) {
    error = thrown
  }
  const tookMs = clock.now() - startedAt
  const named = unusable && { count: total.unusable, key: unusable.key }
  const end = {
    ...total,
    unusable: named,
    cursor,
    tookMs,
    error: error === undefined ? null : storable(messageOf(error)),
  }
  // A queue that is not shared ends with this process: the next pass has to be somebody else's, and soon.
  const nextMs = finished && queue.shared ? spread(random, job.sweepEveryMs, 0.1) : 0
  if (turn) {
    const last = { ...end, nextMs, finished, sample: turn.sample, everyMs: job.sweepEveryMs }
    await store.sweeps.end(holder, [{ turn, end: last }])
  }
  if (error !== undefined) {
    events.emit('sweep.failed', { job: job.name, error })
    throw error
  }
  events.emit('sweep.passed', { job: job.name, ...total, ...unusableTold(named), finished, tookMs })
  return { ...nothing, ...total, eligible: total.seen - total.held - total.unusable, finished }
}

/** The source and the fill of a pass, with the rows that they read told to who waits. */
async function counted({ source, fill }: OnDemandPorts, job: Job, { onProgress }: ProgressOptions) {
  const plain = source(job)
  if (!onProgress) return { source: plain, fill }
  const total = await plain.estimate(pageTimeoutMs).catch(() => null)
  let done = 0
  const tell = (rows: number) => {
    done += rows
    onProgress({ what: job.name, done, total })
  }
  const page: Source['page'] = async (...args) => {
    const read = await plain.page(...args)
    tell(read.scanned)
    return read
  }
  const telling: Fill = async (request) => {
    const filled = await fill(request)
    if (filled) tell(filled.scanned)
    return filled
  }
  const wrapped = new Proxy(plain, { get: (target, name) => (name === 'page' ? page : Reflect.get(target, name)) })
  return { source: wrapped, fill: telling }
}
