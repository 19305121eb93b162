// Lower arrow, only looked at: what a whole pass of a job would do now. Reads every page of the pending query, asks the
// queue which hints are there, and changes nothing anywhere.
import type { ProgressOptions } from '../base/progress.ts'
import { horizonMs } from '../job/horizon.ts'
import type { Job } from '../job/job.ts'
import type { Queue } from '../queue/queue.ts'
import type { Diagnosis, HeldCounts } from '../store/diagnosis.ts'
import { isLastPage, type Source } from '../store/source.ts'
import { pageRows, pageTimeoutMs, pushRows } from './pass-step.ts'

export interface DryRunPorts {
  readonly source: Source
  readonly queue: Pick<Queue, 'count' | 'inspection' | 'shared'>
  /** Missing: why rows are held is not known. */
  readonly diagnosis: Pick<Diagnosis, 'held'> | undefined
}

/** What a pass would find, and do. */
export interface DryRun {
  readonly seen: number
  readonly eligible: number
  readonly held: number
  readonly unusable: number
  readonly heldBy: HeldCounts | null
  /** Eligible keys that have a hint already; null: the queue cannot tell. */
  readonly hinted: number | null
  readonly pushed: number
  readonly keys: readonly string[]
  /** The end of the rows was reached. */
  readonly finished: boolean
}

const keysShown = 5
/** Looks at hints that are on their way at a time. */
const looksAway = 4

/** `paused`: rows are counted, and nothing would be pushed. */
export async function dryRun(
  { source, queue, diagnosis }: DryRunPorts,
  job: Job,
  paused: boolean,
  { onProgress, signal }: ProgressOptions,
): Promise<DryRun> {
  const total = onProgress ? await source.estimate(pageTimeoutMs).catch(() => null) : null
  const found = { seen: 0, eligible: 0, unusable: 0, heldBy: diagnosis ? none : null, hinted: 0 as number | null }
  const keys: string[] = []
  let finished = false
  for (let cursor: string | null = null; !finished && !signal?.aborted; ) {
    const page = await source.page(cursor, pageRows, horizonMs(job), pageTimeoutMs)
    found.seen += page.scanned
    found.eligible += page.rows.length
    found.unusable += page.unusable?.count ?? 0
    keys.push(...page.rows.slice(0, keysShown - keys.length).map(({ key }) => key))
    // Asked for only where something is held: it reads the page again.
    // It fails for the same rows as the query.
    if (page.more !== undefined) found.heldBy = null
    if (found.heldBy && diagnosis && page.rows.length < page.scanned) {
      const held = await diagnosis.held(job, cursor, pageRows, horizonMs(job), pageTimeoutMs)
      found.heldBy = held && sum(found.heldBy, held)
    }
    if (found.hinted !== null) {
      const there = await hintsOf(queue, job, page.rows)
      found.hinted = there === null ? null : found.hinted + there
    }
    onProgress?.({ what: job.name, done: found.seen, total })
    finished = isLastPage(page, pageRows)
    cursor = page.last
  }
  const { seen, eligible, hinted } = found
  return {
    ...found,
    held: seen - eligible - found.unusable,
    keys,
    pushed: paused ? 0 : await missing(queue, job, eligible, hinted),
    finished,
  }
}

/** How many of these rows have a hint; null: nobody can tell. */
async function hintsOf(
  { inspection, shared }: DryRunPorts['queue'],
  job: Job,
  rows: readonly { readonly key: string }[],
): Promise<number | null> {
  // What is in this process's memory says nothing of the workers'.
  if (!inspection || !shared) return null
  const keys = rows.map(({ key }) => key)
  let there = 0
  for (let at = 0; at < keys.length; at += pushRows * looksAway) {
    const looks = Array.from({ length: looksAway }, (_, i) => keys.slice(at + i * pushRows, at + (i + 1) * pushRows))
    const found = await Promise.all(looks.map((some) => inspection.peek(job.name, some))).catch(() => null)
    if (found === null) return null
    there += found.reduce((sum, hints) => sum + hints.size, 0)
  }
  return there
}

/** Exactly, or how many at least, going by the number of hints; a queue that does not answer has none. */
async function missing(
  queue: DryRunPorts['queue'],
  job: Job,
  eligible: number,
  hinted: number | null,
): Promise<number> {
  if (hinted !== null) return eligible - hinted
  const hints = (await queue.count([job.name]).catch(() => undefined))?.get(job.name)
  return Math.max(0, eligible - (hints ? hints.due + hints.delayed : 0))
}

const none: HeldCounts = { running: 0, quarantined: 0, backedOff: 0, later: 0 }

const sum = (a: HeldCounts, b: HeldCounts): HeldCounts => ({
  running: a.running + b.running,
  quarantined: a.quarantined + b.quarantined,
  backedOff: a.backedOff + b.backedOff,
  later: a.later + b.later,
})
