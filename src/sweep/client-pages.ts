// Lower arrow: a page whose keys come here and go to the queue in pushes, as with any queue that is not beside the rows.
import { horizonMs } from '../job/horizon.ts'
import type { Job } from '../job/job.ts'
import type { UnusableKeys } from '../job/key.ts'
import { isLastPage, type Page, type Source, type UnusableRows } from '../store/source.ts'
import type { Ramped } from './pacing.ts'
import { type PassStart, pageRows, pageTimeoutMs, pushRows, type Step } from './pass-step.ts'
import { type HintPorts, hintRows } from './push-rows.ts'

export interface ByKeysPorts extends HintPorts {
  readonly source: Source
  readonly ramped: Ramped
}

export class ByKeys {
  readonly #ports: ByKeysPorts
  readonly #job: Job
  readonly #start: PassStart
  /** The page after the last one, on its way. */
  #ahead: { readonly after: string | null; readonly limit: number; readonly page: Promise<Page> } | undefined
  #pushed = 0

  constructor(ports: ByKeysPorts, job: Job, start: PassStart) {
    this.#ports = ports
    this.#job = job
    this.#start = start
  }

  async step(after: string | null, limit: number): Promise<Step> {
    const { paused } = this.#start
    const page = await this.#read(after, limit)
    const last = isLastPage(page, limit)
    // When everything is to come back, the store reads the next page while one is pushed.
    if (!last && this.#ports.ramped.ramps && this.#start.brief !== 'all' && this.#pushed > 0) {
      const ahead = this.#page(page.last, limit)
      ahead.catch(() => {})
      this.#ahead = { after: page.last, limit, page: ahead }
    }
    const { added, dropped, done, cursor, ended, error } = paused ? idle : await this.#pushRows(after, page)
    this.#pushed += added
    const whole = ended === null
    const unusable = page.unusable ? passedBy(page.unusable, whole ? null : done) : null
    return {
      seen: page.scanned,
      held: page.scanned - (paused ? 0 : page.rows.length) - (page.unusable?.count ?? 0),
      unusable,
      pushed: added,
      dropped,
      // Held rows lie anywhere between the others.
      passed: whole ? page.scanned : Math.round((page.scanned * done) / page.rows.length),
      // L6: the cursor moves on even when nothing was eligible.
      cursor: whole ? (last ? null : page.last) : cursor,
      oldestMs: page.oldestMs,
      rows: page.rows,
      // A page around bad rows took many statements: the other jobs come first.
      ended: whole ? (last ? 'finished' : page.more ? 'budget' : null) : ended,
      error,
    }
  }

  #read(after: string | null, limit: number): Promise<Page> {
    const ahead = this.#ahead
    this.#ahead = undefined
    return ahead?.after === after && ahead.limit === limit ? ahead.page : this.#page(after, limit)
  }

  #page(after: string | null, limit: number): Promise<Page> {
    return this.#ports.source.page(after, limit, horizonMs(this.#job), pageTimeoutMs)
  }

  async #pushRows(after: string | null, page: Page): Promise<PushedRows> {
    const { ramped } = this.#ports
    // When everything is to come back, all pushes of a page are on their way at a time.
    const most = ramped.ramps ? pageRows : pushRows
    const sum = { added: 0, dropped: 0, done: 0, cursor: after }
    while (sum.done < page.rows.length) {
      const room = await ramped.room(sum.cursor)
      if (typeof room === 'string') return { ...sum, ended: room }
      const rows = page.rows.slice(sum.done, sum.done + Math.min(room, most))
      const { added, dropped, lost = 0, error } = await hintRows(this.#ports, this.#job, rows, this.#start.epoch)
      ramped.note(added)
      sum.added += added
      sum.dropped += dropped
      // M42: what this pass still has to push is not what the new queue lacks most.
      if (lost > 0) return { ...sum, ended: 'lost' }
      if (dropped > 0) return { ...sum, ended: 'full', error }
      sum.done += rows.length
      sum.cursor = rows.at(-1)?.key ?? sum.cursor
    }
    return { ...sum, ended: null }
  }
}

interface PushedRows {
  readonly added: number
  readonly dropped: number
  /** Rows of the page that were pushed, and the last of them. */
  readonly done: number
  readonly cursor: string | null
  readonly ended: Step['ended']
  readonly error?: unknown
}

/** Those of a page before the cursor, which stands on the last of `done` rows; null: the whole page is behind it. */
function passedBy({ count, key, before }: UnusableRows, done: number | null): UnusableKeys | null {
  const passed = done === null ? count : before.filter((rows) => rows < done).length
  return passed > 0 ? { count: passed, key } : null
}

const idle: PushedRows = { added: 0, dropped: 0, done: 0, cursor: null, ended: null }
