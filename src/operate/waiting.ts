// How many keys of a job wait for a run, and how old that figure is. Sweeps count rows, so while nobody sweeps the figure grows old.
// Pure.
import { readable } from '../base/duration.ts'
import type { JobStatus } from './status.ts'

/** Keys of a job that wait for a run. */
export interface WaitingCount {
  /** Without keys in quarantine: these wait for a person. */
  readonly count: number
  /** The planner's guess: no pass has reached the end of the rows. */
  readonly estimated: boolean
  /** When the last pass counted them; stored inputs are counted now. */
  readonly at: Date
  /** It was counted more than two minutes ago: nobody has swept since. */
  readonly stale: boolean
}

/** A younger count needs no age: with the default interval sweeps are a minute apart. */
const freshMs = 120_000

/** Null: no pass has counted the rows yet. `at`: the present. */
export function waitingOf({ sweep, intents, quarantined }: Omit<JobStatus, 'hints'>, at: Date): WaitingCount | null {
  const counted = intents > 0 ? { count: intents, estimated: false, at } : (sweep?.pending ?? null)
  if (counted === null) return null
  return { ...counted, count: Math.max(0, counted.count - quarantined), stale: ageOf(counted.at, at) !== null }
}

/** The age of a figure in words, such as `3h`; null: it is fresh. */
export function ageOf(since: Date, at: Date): string | null {
  const ms = at.getTime() - since.getTime()
  return ms > freshMs ? readable(ms) : null
}

/** What waits for a worker: the last count, or what ledger and queue hold now where that is more. About, since a count holds rows whose
 * time is to come, and may be older than their last run. */
export function waitingAbout(job: JobStatus, at: Date): { readonly count: number; readonly at: Date } {
  const waiting = waitingOf(job, at)
  const now = Math.max(job.retrying, job.hints?.due ?? 0)
  return waiting && waiting.count > now ? waiting : { count: now, at }
}

/** A count with its age, behind a semicolon; empty: nothing waits. */
export function waitText({ count, at: since }: { readonly count: number; readonly at: Date }, at: Date): string {
  if (count === 0) return ''
  const age = ageOf(since, at)
  return age === null
    ? `; about ${count} wait for one`
    : `; ${count} waited for one when they were last counted, ${age} ago`
}
