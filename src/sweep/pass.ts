// Lower arrow: a pass over a pending query in keyset pages, pushing the hints that are missing (L3).
// It holds no state that a crash could lose: hints pushed so far are fine, the cursor is in the store.
import type { Clock } from '../base/clock.ts'
import type { Job } from '../job/job.ts'
import type { PageRow, Source } from '../store/source.ts'
import { type HintPorts, hintRows } from './hint-rows.ts'
import { allowedBy, rampStepMs } from './ramp.ts'

export interface PassPorts extends HintPorts {
  readonly clock: Clock
  readonly source: Source
  /** Stores the cursor and keeps the turn; false: it is somebody else's now. `pushed`: hints of the pass so far. */
  readonly advance: (cursor: string | null, pushed: number) => Promise<boolean>
}

export interface PassStart {
  /** Where to go on; null: from the beginning. */
  readonly cursor: string | null
  /** The job is paused: rows are counted, nothing is hinted. */
  readonly paused: boolean
  /** Since everything came back at once; null: it did not. */
  readonly rampedMs: number | null
  /**
   * Pages that are no larger than a push: the first one where the queue may be full still, or where everybody waits for the
   * first hints; all of them where a large one would keep the workers from their only connection.
   */
  readonly brief: 'none' | 'first' | 'all'
  /** Of the queue that it fills; null: whichever there is. */
  readonly epoch: number | null
}

export interface PassResult {
  readonly seen: number
  readonly pushed: number
  readonly held: number
  /** Hints that the queue had no room for, of those that were tried. */
  readonly dropped: number
  /** Of the rows seen those before the cursor: the others are seen again by the turn that goes on. */
  readonly passed: number
  /** Where to go on; null: the pass reached the end. */
  readonly cursor: string | null
  /** The longest that an eligible row waits, where rows tell. */
  readonly oldestMs: number | null
  /** Eligible rows of the first page. */
  readonly rows: readonly PageRow[]
  /** `full`: the queue took no more; `budget`: time was over; `lost`: the turn was, or the queue; `stopped`: the worker stops. */
  readonly ended: 'finished' | 'full' | 'budget' | 'lost' | 'stopped'
}

export const pageRows = 10_000
const pushRows = 1_000
const budgetMs = 30_000
export const pageTimeoutMs = 10_000
/**
 * So often at most a pass shows between its pushes that it lives, and sees that its turn was taken: after a loss the hints of
 * the pass before would stand in front of those that were lost, and nobody would ramp them.
 */
const signMs = 100

/** What comes due before the next sweep is pushed now, as a delayed hint. */
export const horizonMs = (job: Job) => job.sweepEveryMs * 1.2 + 1_000

/** A pass as far as its budget, the queue and its turn go. */
export async function pass(ports: PassPorts, job: Job, start: PassStart, signal: AbortSignal): Promise<PassResult> {
  const { clock, source } = ports
  const until = clock.now() + budgetMs
  const count = { seen: 0, pushed: 0, held: 0, dropped: 0, passed: 0 }
  const found: { oldestMs: number | null; rows: readonly PageRow[] } = { oldestMs: null, rows: [] }
  const pushing = new Pushing(ports, job, start, signal)
  let cursor = start.cursor
  const end = (ended: PassResult['ended']): PassResult => ({ ...count, ...found, cursor, ended })
  let limit = start.brief === 'none' ? pageRows : pushRows
  const read = (after: string | null) => source.page(after, limit, horizonMs(job), pageTimeoutMs)
  const eager = start.rampedMs !== null && start.brief !== 'all'
  let reading = read(cursor)
  for (;;) {
    const page = await reading
    const last = page.scanned < limit || page.last === null
    const before = count.passed
    count.seen += page.scanned
    count.held += page.scanned - (start.paused ? 0 : page.rows.length)
    if (found.rows.length === 0) found.rows = page.rows
    if (page.oldestMs !== null) found.oldestMs = Math.max(found.oldestMs ?? 0, page.oldestMs)
    limit = start.brief === 'all' ? pushRows : pageRows
    // When everything is to come back, the store reads the next page while one is pushed.
    const ahead = !last && eager && count.pushed > 0 ? read(page.last) : undefined
    ahead?.catch(() => {})
    if (!start.paused)
      for (let at = 0; at < page.rows.length; ) {
        const room = await pushing.room(cursor)
        if (typeof room === 'string') return end(room)
        const rows = page.rows.slice(at, at + Math.min(room, pushRows))
        const { added, dropped, lost = 0 } = await pushing.push(rows)
        count.pushed += added
        count.dropped += dropped
        // M42: what this pass still has to push is not what the new queue lacks most.
        if (lost > 0) return end('lost')
        if (dropped > 0) return end('full')
        cursor = rows.at(-1)?.key ?? cursor
        at += rows.length
        // Held rows lie anywhere between the others.
        count.passed = before + Math.round((page.scanned * at) / page.rows.length)
      }
    count.passed = before + page.scanned
    // L6: the cursor moves on even when nothing was eligible.
    cursor = page.last
    if (last) {
      cursor = null
      return end('finished')
    }
    if (!(await ports.advance(cursor, count.pushed))) return end('lost')
    if (signal.aborted) return end('stopped')
    if (clock.now() >= until) return end('budget')
    reading = ahead ?? read(cursor)
  }
}

/** The hints of one pass on their way to the queue: not faster than its ramp allows. */
class Pushing {
  readonly #ports: PassPorts
  readonly #job: Job
  readonly #signal: AbortSignal
  readonly #rampedAt: number | null
  readonly #epoch: number | null
  #pushed = 0
  #signAt: number

  constructor(ports: PassPorts, job: Job, { rampedMs, epoch }: PassStart, signal: AbortSignal) {
    this.#ports = ports
    this.#job = job
    this.#signal = signal
    this.#epoch = epoch
    this.#signAt = ports.clock.now()
    this.#rampedAt = rampedMs === null ? null : ports.clock.now() - rampedMs
  }

  /** How many may be pushed now, one at least: waits until that is so, or tells why nothing more is to be pushed. */
  async room(cursor: string | null): Promise<number | 'lost' | 'stopped'> {
    const { clock, advance } = this.#ports
    for (;;) {
      if (clock.now() - this.#signAt >= signMs) {
        if (!(await advance(cursor, this.#pushed))) return 'lost'
        this.#signAt = clock.now()
      }
      const since = this.#rampedAt === null ? null : clock.now() - this.#rampedAt
      const room = allowedBy(since) - this.#pushed
      if (room >= 1) return room
      if (this.#signal.aborted) return 'stopped'
      await clock.sleep(rampStepMs, this.#signal)
    }
  }

  async push(rows: readonly PageRow[]) {
    const pushed = await hintRows(this.#ports, this.#job, rows, this.#epoch)
    this.#pushed += pushed.added
    return pushed
  }
}
