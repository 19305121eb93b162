// Lower arrow: pages that the queue reads by itself, since it lives beside the rows. Only the few rows that are not simply
// pending now come here, and go the usual way. When everything is to come back, three pages are read at a time.
import { limited } from '../base/semaphore.ts'
import { horizonMs } from '../job/horizon.ts'
import type { Job } from '../job/job.ts'
import type { Pushed } from '../queue/hint.ts'
import type { Fill } from '../queue/push.ts'
import type { FillResult } from '../queue/queue.ts'
import type { Source } from '../store/source.ts'
import type { Ramped } from './pacing.ts'
import { type PassStart, pageRows, pageTimeoutMs, type Step } from './pass-step.ts'
import { type HintPorts, hintRows } from './push-rows.ts'

export interface InsidePorts extends HintPorts {
  readonly source: Source
  readonly fill: Fill
  readonly ramped: Ramped
}

/** A page on its way; undefined: the queue could not. */
interface OnItsWay {
  readonly after: string | null
  readonly limit: number
  readonly filled: Promise<FillResult | undefined>
  /** Where the page after this one begins; null: nobody asked, or nobody knows. */
  readonly end: Promise<string | null>
}

/**
 * Pages that are read at a time, and those that were sent behind the one that is waited for: whichever ends first, another one begins.
 * Two would keep two cores busy but for the moments between them.
 */
const [abreast, aheadMax] = [3, 3]

export class Inside {
  readonly #ports: InsidePorts
  readonly #job: Job
  readonly #start: PassStart
  readonly #inTurn = limited(abreast)
  /** Pages that were sent ahead, in their order. */
  #ahead: OnItsWay[] = []

  constructor(ports: InsidePorts, job: Job, start: PassStart) {
    this.#ports = ports
    this.#job = job
    this.#start = start
  }

  /** Null: the queue, or this source, cannot do that. */
  async step(after: string | null, most: number): Promise<Step | null> {
    const { ramped } = this.#ports
    const ready = await this.#arrived(after)
    const room = ready ? ready.limit : await ramped.room(after)
    if (typeof room === 'string') return { ...nothing, cursor: after, ended: room }
    const page = ready ?? this.#send(after, Math.min(most, room))
    await this.#sendAhead(page)
    const filled = await page.filled
    return filled ? this.#stepOf(filled, page) : null
  }

  /** What is still on its way is waited for: nothing of a pass runs after it. */
  async over(): Promise<void> {
    await Promise.allSettled(this.#ahead.flatMap(({ filled, end }) => [filled, end]))
    this.#ahead = []
  }

  /** The page that was sent ahead, unless rows came or went before its beginning: then it is read anew from there (L3). */
  async #arrived(after: string | null): Promise<OnItsWay | undefined> {
    if (this.#ahead[0]?.after === after) return this.#ahead.shift()
    await this.over()
    return undefined
  }

  async #sendAhead(page: OnItsWay): Promise<void> {
    while (this.#ahead.length < aheadMax) {
      const end = await (this.#ahead.at(-1) ?? page).end
      if (end === null || this.#ports.ramped.roomNow() < pageRows) return
      this.#ahead.push(this.#send(end, pageRows))
    }
  }

  #send(after: string | null, limit: number): OnItsWay {
    const { source, fill, ramped } = this.#ports
    const { name } = this.#job
    ramped.note(limit)
    const filling = async () => {
      const page = await source.serverPages?.page(after, limit, horizonMs(this.#job))
      const filled =
        page && (await fill({ job: name, page, limit, timeoutMs: pageTimeoutMs, epoch: this.#start.epoch }))
      ramped.note((filled?.pushed.added ?? 0) - limit)
      return filled
    }
    const filled = this.#inTurn(filling)
    filled.catch(() => {})
    return { after, limit, filled, end: this.#pageEnd(after, limit) }
  }

  /** Asked while the page is on its way, if it is worth asking: the next one follows without a pause. */
  async #pageEnd(after: string | null, limit: number): Promise<string | null> {
    const { ramped, source } = this.#ports
    const { serverPages } = source
    if (!ramped.ramps || limit < pageRows || ramped.roomNow() < pageRows || !serverPages) return null
    // What is wrong with it shows in the page.
    return serverPages.end(after, limit, pageTimeoutMs).catch(() => null)
  }

  async #stepOf(filled: FillResult, { after, limit }: OnItsWay): Promise<Step> {
    const { scanned, eligible, unusable = null, last, oldestMs, rows, sample, pushed } = filled
    const { epoch } = this.#start
    const others: Pushed =
      rows.length > 0 ? await hintRows(this.#ports, this.#job, rows, epoch) : { added: 0, merged: 0, dropped: 0 }
    this.#ports.ramped.note(others.added)
    const found = {
      seen: scanned,
      pushed: pushed.added + others.added,
      held: scanned - eligible - (unusable?.count ?? 0),
      unusable,
      dropped: pushed.dropped + others.dropped,
      oldestMs,
      rows: [...rows, ...sample.map((key) => ({ key, version: null, waitMs: 0, renewed: false }))],
    }
    const stays = { ...found, unusable: null, passed: 0, cursor: after, error: others.error }
    // M42: what this pass still has to push is not what the new queue lacks most.
    if ((pushed.lost ?? 0) + (others.lost ?? 0) > 0) return { ...stays, ended: 'lost' }
    if (found.dropped > 0) return { ...stays, ended: 'full' }
    const finished = scanned < limit || last === null
    // L6: the cursor moves on even when nothing was eligible.
    return { ...found, passed: scanned, cursor: finished ? null : last, ended: finished ? 'finished' : null }
  }
}

const nothing = { seen: 0, pushed: 0, held: 0, unusable: null, dropped: 0, passed: 0, oldestMs: null, rows: [] }
