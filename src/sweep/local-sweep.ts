// Lower arrow, behind a queue that is this process's own, or that is down: the sweep of the fleet fills somebody else's, so
// each working process sweeps for itself while it is short of work. A few times its concurrency, from a place of its own,
// so that the processes do not all reach for the same rows; the claims decide.
import type { Clock } from '../base/clock.ts'
import type { Events } from '../base/events.ts'
import type { LoopSpec } from '../base/loop.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import type { Queue } from '../queue/queue.ts'
import type { Pauses } from '../store/pauses.ts'
import { isLastPage, type Source } from '../store/source.ts'
import { pageTimeoutMs } from './pass-step.ts'
import { type HintPorts, hintRows } from './push-rows.ts'

export interface OwnPorts extends HintPorts {
  readonly clock: Clock
  readonly events: Events<EventMap>
  readonly queue: Pick<Queue, 'shared' | 'count'>
  readonly pauses: Pauses
  readonly source: (job: Job) => Source
  readonly jobs: readonly Job[]
  /** Handler calls at a time in this process. */
  readonly concurrency: number
  readonly mayBegin: () => boolean
}

/** When the rows are exhausted, and when there are more; behind a shared queue, until somebody finds that down. */
const waitMs = { idle: 5_000, more: 50, enough: 250, shared: 60_000 }
/** Hints per look, in multiples of the concurrency; rows scanned for them at least. */
const few = 5
const rowsMin = 1_000

/** Where this process is in the rows of one job. */
interface Place {
  /** Undefined: nowhere yet. */
  cursor: string | null | undefined
  /** Hints since the last time the rows began. */
  added: number
  restUntil: number
}

export function ownLoop(ports: OwnPorts): LoopSpec {
  const { clock, queue, jobs, concurrency, pauses, events } = ports
  const places = new Map(jobs.map((job): [Job, Place] => [job, { cursor: undefined, added: 0, restUntil: 0 }]))
  return {
    name: 'local_sweep',
    async tick() {
      if (queue.shared) return waitMs.shared
      if (!ports.mayBegin()) return waitMs.more
      const rested = [...places].filter(([, { restUntil }]) => restUntil <= clock.now())
      const counts = await queue.count(rested.map(([{ name }]) => name))
      const short = rested.filter(([{ name }]) => (counts.get(name)?.due ?? 0) < concurrency)
      if (rested.length > 0 && short.length === 0) return waitMs.enough
      const paused = new Set(short.length === 0 ? [] : (await pauses.list()).map(({ job }) => job))
      for (const [job, place] of short)
        try {
          const more = !paused.has(job.name) && (await look(ports, job, place))
          place.restUntil = more ? 0 : clock.now() + waitMs.idle
        } catch (error) {
          // One job's broken query stops nobody else.
          place.restUntil = clock.now() + waitMs.idle
          events.emit('sweep.failed', { job: job.name, error })
        }
      const next = Math.min(...[...places.values()].map(({ restUntil }) => restUntil))
      return Math.max(waitMs.more, next - clock.now())
    },
  }
}

/** Hints the next few rows; true when there may be more. */
async function look(ports: OwnPorts, job: Job, place: Place): Promise<boolean> {
  const want = few * ports.concurrency
  const limit = Math.max(rowsMin, 4 * want)
  const from = place.cursor ?? null
  const page = await ports.source(job).page(from, limit, waitMs.idle * 1.2, pageTimeoutMs)
  const { rows, last } = page
  const start = place.cursor === undefined ? Math.floor(ports.random.float() * rows.length) : 0
  const chosen = rows.slice(start, start + want)
  if (chosen.length > 0) place.added += (await hintRows(ports, job, chosen)).added
  const atEnd = start + chosen.length >= rows.length && isLastPage(page, limit)
  if (!atEnd) {
    place.cursor = start + chosen.length < rows.length ? (chosen.at(-1)?.key ?? last) : last
    return true
  }
  // L6: at the end it begins again; at once when the rows before its place were not looked at, or there was work.
  const more = from !== null || start > 0 ? true : place.added > 0 && chosen.length >= want
  place.cursor = null
  place.added = 0
  return more
}
