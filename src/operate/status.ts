// A person called: how does everything stand? Reads regrow's tables and counts hints; runs no query of the user's.
import type { Clock } from '../base/clock.ts'
import { withDeadline } from '../base/deadline.ts'
import type { Job } from '../job/job.ts'
import type { HintCount, Queue } from '../queue/queue.ts'
import type { JobRow, PulseFacts, QueueRow, StoreStatus, WorkerRow } from '../store/status.ts'

/** One job: what the tables say, and what the queue holds of it. */
export interface JobStatus extends JobRow {
  /** Declared by this app; false: only the tables know it. */
  readonly declared: boolean
  /** Hints in the queue; null when the queue did not answer. A queue in memory shows this process's own only. */
  readonly hints: HintCount | null
}

/** The queue, as the process that asks sees it. */
export interface QueueStatus {
  readonly name: string
  /** False: it is this process's own, as memory is, and as memory that stands in for a queue that is down. */
  readonly shared: boolean
  /** It does not answer: hints are neither pushed to it nor popped; workers sweep for themselves. */
  readonly down: boolean
  /**
   * Queues that workers use, by the marks in the store, and that this app does not have: what is in them, or whether they answer, it
   * cannot know. Where the app's own queue is none of the workers', `name` is the first of these.
   */
  readonly unseen: readonly string[]
}

/** How everything stands, at one instant of the store's clock. */
export interface Status {
  readonly at: Date
  readonly queue: QueueStatus
  readonly jobs: readonly JobStatus[]
  /** Workers that have not left, oldest first. */
  readonly workers: readonly WorkerRow[]
  readonly pulse: PulseFacts
}

export interface StatusPorts {
  readonly clock: Clock
  readonly status: Pick<StoreStatus, 'jobs' | 'workers' | 'queues'>
  readonly queue: Pick<Queue, 'name' | 'shared' | 'count'> & { readonly down: boolean }
  readonly jobs: readonly Job[]
  readonly leaseMs: number
}

/** S16: a person waits for the answer; a queue that takes longer is as good as down. */
const countPatienceMs = 5_000

/** Marks that were looked at within this of each other are in use at the same time. */
const aliveMs = 60_000

/** Every job that the app declares or the tables name, by name. */
export async function status({ clock, status: store, queue, jobs, leaseMs }: StatusPorts): Promise<Status> {
  const [{ at, jobs: rows, pulse }, workers, marked] = await Promise.all([
    store.jobs(leaseMs),
    store.workers(leaseMs),
    store.queues(),
  ])
  const known = new Map(rows.map((row) => [row.job, row]))
  const declared = new Set(jobs.map(({ name }) => name))
  const names = [...new Set([...known.keys(), ...declared])].sort()
  // A queue that is down is not the end of the answer: the truth is in the store. What stands in for it says nothing of it.
  const used = inUse(marked, workers)
  // A queue in memory has no mark; which one the workers have is not known then.
  const unseen = queue.shared || queue.down ? used.filter((name) => name !== queue.name) : []
  const another = unseen.length > 0 && unseen.length === used.length
  const hints =
    queue.down || another
      ? null
      : await withDeadline(clock, countPatienceMs, 'queue.count', queue.count(names)).catch(() => null)
  return {
    at,
    queue: {
      name: another ? (unseen[0] as string) : queue.name,
      shared: queue.shared,
      down: hints === null && !another,
      unseen,
    },
    workers,
    pulse,
    jobs: names.map((job) => ({
      ...(known.get(job) ?? unknown(job)),
      declared: declared.has(job),
      hints: hints && (hints.get(job) ?? { due: 0, delayed: 0 }),
    })),
  }
}

/** A worker that starts need not look at a mark that another one has just looked at. */
const justLookedMs = 500

/**
 * Of the queues that have marks, those that workers looked at when they last looked at any. An app that moved to another queue leaves its
 * old mark behind: who lives now cannot have looked at it before it started. The last one that was looked at stays, however long ago that
 * was: nobody looks at a queue that is down.
 */
function inUse(marked: readonly QueueRow[], workers: readonly WorkerRow[]): string[] {
  const last = Math.max(...marked.map(({ lookedAt }) => lookedAt.getTime()))
  const started = workers.filter(({ live }) => live).map(({ startedAt }) => startedAt.getTime())
  const since = Math.max(last - aliveMs, started.length > 0 ? Math.min(...started) - justLookedMs : 0)
  return marked
    .filter(({ lookedAt }) => lookedAt.getTime() === last || lookedAt.getTime() >= since)
    .map(({ name }) => name)
}

const unknown = (job: string): JobRow => ({
  job,
  running: 0,
  retrying: 0,
  quarantined: 0,
  intents: 0,
  workers: 0,
  drainedAt: null,
  noProgress: 0,
  unowned: null,
  sweep: null,
  pause: null,
})
