// Lower arrow, because a person asked: whole passes of some jobs now, or what they would do.
// In: jobs. Out: one report per job; a broken query is in its report and stops no other job.
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import { type Random, spread } from '../base/random.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import { storable } from '../job/outcome.ts'
import { unknownJob } from '../job/unknown-job.ts'
import type { Fill, Push } from '../queue/push.ts'
import type { Queue } from '../queue/queue.ts'
import type { Source } from '../store/source.ts'
import type { Store } from '../store/store.ts'
import { pass } from './pass.ts'
import { horizonMs, pageRows, pageTimeoutMs } from './step.ts'

/** What to sweep. */
export interface SweepOptions {
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
  /** New hints. Of a dry run: how many would be new at least, going by the number of hints in the queue now. */
  readonly pushed: number
  /** The first keys that are eligible, five at most; of a dry run only. */
  readonly keys: readonly string[]
  /** Paused: its rows are counted, and nothing is hinted until it is resumed. */
  readonly paused: boolean
  /** False: the queue was full; workers go on as it drains. */
  readonly finished: boolean
  /** Why the pass failed; null when it did not. */
  readonly error: string | null
  readonly tookMs: number
}

export interface OnDemandPorts {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events<EventMap>
  readonly store: Pick<Store, 'sweeps' | 'ledger' | 'pauses'>
  readonly queue: Pick<Queue, 'count' | 'shared'>
  readonly push: Push
  readonly fill: Fill
  readonly source: (job: Job) => Source
  /** Every job that the app declares. */
  readonly jobs: readonly Job[]
}

/** Sweeps jobs one after the other. A dry run changes nothing anywhere. */
export async function sweepOnDemand(ports: OnDemandPorts, options: SweepOptions = {}): Promise<SweepReport[]> {
  const names = ports.jobs.map(({ name }) => name)
  const jobs = (options.jobs ?? names).map((name) => {
    const job = ports.jobs.find((each) => each.name === name)
    if (!job) throw unknownJob(name, names)
    return job
  })
  const pauses = new Set((await ports.store.pauses.list()).map(({ job }) => job))
  const reports: SweepReport[] = []
  for (const job of jobs) {
    const startedAt = ports.clock.now()
    const paused = pauses.has(job.name)
    const found = await (options.dryRun ? look : passes)(ports, job, paused).catch((error: unknown) => ({
      ...nothing,
      error: storable(messageOf(error)),
    }))
    const tookMs = Math.round(ports.clock.now() - startedAt)
    reports.push({ job: job.name, dryRun: options.dryRun ?? false, ...found, paused, tookMs })
  }
  return reports
}

type Found = Omit<SweepReport, 'job' | 'dryRun' | 'paused' | 'tookMs'>

const nothing: Found = { seen: 0, eligible: 0, held: 0, pushed: 0, keys: [], finished: false, error: null }
const keysShown = 5

/** Reads all pages; what a pass would clear or push stays as it is. */
async function look({ source, queue }: OnDemandPorts, job: Job): Promise<Found> {
  const count = { seen: 0, eligible: 0 }
  const keys: string[] = []
  for (let cursor: string | null = null; ; ) {
    const page = await source(job).page(cursor, pageRows, horizonMs(job), pageTimeoutMs)
    count.seen += page.scanned
    count.eligible += page.rows.length
    keys.push(...page.rows.slice(0, keysShown - keys.length).map(({ key }) => key))
    if (page.scanned < pageRows || page.last === null) break
    cursor = page.last
  }
  const hints = (await queue.count([job.name])).get(job.name)
  const pushed = Math.max(0, count.eligible - (hints ? hints.due + hints.delayed : 0))
  return { ...nothing, ...count, held: count.seen - count.eligible, pushed, keys, finished: true }
}

/**
 * One whole pass, however many budgets it takes. By its turn if that can be got, so that cursor and counts are stored;
 * beside somebody else's pass otherwise: a hint pushed twice is one hint.
 */
async function passes(ports: OnDemandPorts, job: Job, paused: boolean): Promise<Found> {
  const { clock, random, events, queue, store } = ports
  const holder = random.hex(16)
  const startedAt = clock.now()
  await store.sweeps.declare([{ job: job.name, everyMs: job.sweepEveryMs }])
  await store.sweeps.makeDue([job.name], { anew: true })
  const [turn] = (await store.sweeps.turn(holder, [job.name], 1)).turns
  const total = { seen: 0, pushed: 0, held: 0 }
  let cursor: string | null = null
  let error: unknown
  let finished = false
  try {
    const advance = async (at: string | null) => {
      if (turn) await store.sweeps.advance(holder, turn, at)
      return true
    }
    const signal = new AbortController().signal
    for (;;) {
      const part = await pass(
        { ...ports, ledger: store.ledger, source: ports.source(job), advance },
        job,
        { cursor, paused, rampedMs: null, epoch: null, brief: 'none' },
        signal,
      )
      total.seen += part.seen
      total.pushed += part.pushed
      total.held += part.held
      cursor = part.cursor
      finished = part.ended === 'finished'
      if (part.ended !== 'budget') break
    }
  } catch (thrown) {
    error = thrown
  }
  const tookMs = clock.now() - startedAt
  const end = { ...total, cursor, tookMs, error: error === undefined ? null : storable(messageOf(error)) }
  // A queue that is not shared ends with this process: the next pass has to be somebody else's, and soon.
  const nextMs = finished && queue.shared ? spread(random, job.sweepEveryMs, 0.1) : 0
  if (turn) await store.sweeps.end(holder, turn, { ...end, nextMs, finished, sample: turn.sample })
  if (error !== undefined) {
    events.emit('sweep.failed', { job: job.name, error })
    throw error
  }
  events.emit('sweep.passed', { job: job.name, ...total, finished, tookMs })
  return { ...nothing, ...total, eligible: total.seen - total.held, finished }
}
