// Lower arrow: a pass over a pending query in keyset pages, pushing the hints that are missing.
// It holds no state that a crash could lose: hints pushed so far are fine, the cursor is in the store.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Job } from '../job/job.ts'
import type { Push } from '../queue/push.ts'
import type { Ledger } from '../store/ledger.ts'
import type { PageRow, Source } from '../store/source.ts'

export interface PassPorts {
  readonly clock: Clock
  readonly random: Random
  readonly ledger: Ledger
  readonly push: Push
  readonly source: Source
  /** Stores the cursor and keeps the turn; false: it is somebody else's now. */
  readonly advance: (cursor: string) => Promise<boolean>
}

export interface PassResult {
  readonly seen: number
  readonly pushed: number
  readonly held: number
  /** Where to go on; null: the pass reached the end. */
  readonly cursor: string | null
  /** `full`: the queue took no more; `budget`: time was over; `lost`: the turn was; `stopped`: the worker stops. */
  readonly ended: 'finished' | 'full' | 'budget' | 'lost' | 'stopped'
}

export const pageRows = 10_000
const pushRows = 1_000
const budgetMs = 30_000
export const pageTimeoutMs = 10_000

/** What comes due before the next sweep is pushed now, as a delayed hint. */
export const horizonMs = (job: Job) => job.sweepEveryMs * 1.2 + 1_000

export async function pass(ports: PassPorts, job: Job, from: string | null, signal: AbortSignal): Promise<PassResult> {
  const { clock, source } = ports
  const until = clock.now() + budgetMs
  const count = { seen: 0, pushed: 0, held: 0 }
  let cursor = from
  for (;;) {
    const page = await source.page(cursor, pageRows, horizonMs(job), pageTimeoutMs)
    count.seen += page.scanned
    count.held += page.scanned - page.rows.length
    for (let at = 0; at < page.rows.length; at += pushRows) {
      const rows = page.rows.slice(at, at + pushRows)
      const { added, dropped } = await pushPage(ports, job, rows)
      count.pushed += added
      if (dropped > 0) return { ...count, cursor, ended: 'full' }
      cursor = rows.at(-1)?.key ?? cursor
    }
    if (page.scanned < pageRows || page.last === null) return { ...count, cursor: null, ended: 'finished' }
    // L6: the cursor moves on even when nothing was eligible.
    cursor = page.last
    if (!(await ports.advance(cursor))) return { ...count, cursor, ended: 'lost' }
    if (signal.aborted) return { ...count, cursor, ended: 'stopped' }
    if (clock.now() >= until) return { ...count, cursor, ended: 'budget' }
  }
}

async function pushPage({ ledger, push, random }: PassPorts, job: Job, rows: readonly PageRow[]) {
  const pushed = await push(
    rows.map(({ key, waitMs, renewed }) => ({
      job: job.name,
      key,
      delayMs: waitMs + random.float() * job.sweepJitterMs,
      // A new version has the hint of the old one's back-off in its way: only a fresh one makes that sooner.
      fresh: renewed,
    })),
  )
  // After the push: a crash in between leaves a hint whose check clears the row by itself.
  const renewed = rows.flatMap(({ key, version, renewed }) => (renewed && version !== null ? [{ key, version }] : []))
  if (renewed.length > 0) await ledger.clear(job.name, renewed)
  return pushed
}
