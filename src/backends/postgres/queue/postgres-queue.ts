// Hints in an UNLOGGED table beside the truth: no second server, nothing to vacuum for durability's sake.
import type { Clock } from '../../../base/clock.ts'
import { RegrowError } from '../../../base/errors.ts'
import { difference, type Mark } from '../../../base/mark.ts'
import {
  defaultBounds,
  type Hint,
  OtherLane,
  type PoppedHint,
  type Pushed,
  pushed,
  type QueueBounds,
} from '../../../queue/hint.ts'
import { outOfMemory, type Popped, type PopRequest, type PushOptions, type Queue } from '../../../queue/queue.ts'
import { type Row, type SqlExecutor, sqlState } from '../../../store/executor.ts'
import { statements } from './statements.gen.ts'

/** A poll after a pop that found something, and the floor that it slows down to when idle. */
const pollMs = { quick: 20, floor: 1_000 }

export class PostgresQueue implements Queue {
  readonly name = 'postgres'
  readonly shared = true
  readonly #db: SqlExecutor
  readonly #clock: Clock
  readonly #bounds: QueueBounds
  readonly #otherLane = new OtherLane()
  readonly #waiting = new Set<AbortController>()
  readonly #underWay = new Set<Promise<unknown>>()
  #idleMs = pollMs.quick
  /** The mark of the pop before. */
  #mark: Mark | null = null
  #closed = false

  constructor(db: SqlExecutor, clock: Clock, bounds: Partial<QueueBounds> = {}) {
    this.#db = db
    this.#clock = clock
    this.#bounds = { ...defaultBounds, ...bounds }
  }

  async push(hints: readonly Hint[], { share = 1, epoch = null }: PushOptions = {}): Promise<Pushed> {
    if (hints.length === 0) return { added: 0, merged: 0, dropped: 0 }
    const list = hints.map(({ job, key, delayMs, fresh }) => ({ job, key, fresh, delay_ms: delayMs }))
    const [maxHints, maxDelayed] = [this.#bounds.maxHints, this.#bounds.maxDelayed].map((most) =>
      Math.ceil(most * share),
    )
    const call = this.#db.query(statements.push, [
      JSON.stringify(list),
      maxHints as number,
      maxDelayed as number,
      epoch === null ? null : String(epoch),
    ])
    const { rows } = await this.#during(call).catch((error: unknown) => {
      throw isOutOfMemory(error) ? refused(error) : error
    })
    for (const waiter of this.#waiting) waiter.abort()
    const [added, merged, dropped, lost] = ['added', 'merged', 'dropped', 'lost'].map((name) => Number(rows[0]?.[name]))
    return pushed({ added, merged, dropped, lost } as Pushed)
  }

  pop(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    return this.#during(this.#wait(request, signal))
  }

  async #wait(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    const until = this.#clock.now() + request.waitMs
    for (;;) {
      // Listening begins before the look, so that a push in between is not slept through.
      const woken = new AbortController()
      this.#waiting.add(woken)
      try {
        const popped = await this.#popDue(request)
        const leftMs = until - this.#clock.now()
        // Nobody waits for hints in a queue that was lost: who popped compares the mark.
        const lost = this.#mark !== null && difference(this.#mark, popped.mark) !== null
        this.#mark = popped.mark
        if (popped.hints.length > 0 || lost || leftMs <= 0 || signal?.aborted || this.#closed) {
          this.#idleMs = popped.hints.length > 0 || lost ? pollMs.quick : this.#idleMs
          return popped
        }
        const waitMs = Math.min(leftMs, this.#idleMs, await this.#nextMs(request))
        await this.#clock.sleep(waitMs, signal ? AbortSignal.any([signal, woken.signal]) : woken.signal)
        this.#idleMs = Math.min(this.#idleMs * 2, pollMs.floor)
      } finally {
        this.#waiting.delete(woken)
      }
    }
  }

  async writeMark({ epoch, sequence }: Mark): Promise<void> {
    await this.#db.query(statements.writeMark, [String(epoch), String(sequence)])
  }

  async moveMark({ epoch, sequence }: Mark): Promise<Mark | null> {
    const { rows } = await this.#db.query(statements.moveMark, [String(epoch), String(sequence)])
    return markOf(rows[0])
  }

  async count(jobs: readonly string[]) {
    const { rows } = await this.#db.query(statements.count, [JSON.stringify(jobs)])
    return new Map(rows.map((row) => [row.job as string, { due: Number(row.due), delayed: Number(row.delayed) }]))
  }

  async wipe(): Promise<number> {
    const { rows } = await this.#db.query(statements.wipe)
    return Number(rows[0]?.lost ?? 0)
  }

  /** Waits for what is under way: a pool of pg that is ended with a statement in line never answers it. */
  async close(): Promise<void> {
    this.#closed = true
    for (const waiter of this.#waiting) waiter.abort()
    await Promise.allSettled(this.#underWay)
  }

  #during<T>(call: Promise<T>): Promise<T> {
    const settled = call.finally(() => this.#underWay.delete(settled))
    this.#underWay.add(settled)
    return settled
  }

  async #popDue({ jobs, limit }: PopRequest): Promise<Popped> {
    const wanted = jobs.map(({ job, limit: most }) => ({ job, most }))
    const share = this.#otherLane.share(limit)
    const { rows } = await this.#db.query(statements.pop, [JSON.stringify(wanted), limit, share])
    const [first] = rows
    return {
      hints: rows.flatMap(({ job, key, fresh }) => (key === null ? [] : [{ job, key, fresh } as PoppedHint])),
      mark: markOf(first),
    }
  }

  /** Only asked when idle for a while: soon after something ran, the quick poll sees delayed hints in time anyway. */
  async #nextMs({ jobs }: PopRequest): Promise<number> {
    if (this.#idleMs <= pollMs.quick) return Number.POSITIVE_INFINITY
    const { rows } = await this.#db.query(statements.next, [JSON.stringify(jobs.map(({ job }) => job))])
    const waitMs = rows[0]?.wait_ms
    return waitMs == null ? Number.POSITIVE_INFINITY : Math.max(1, Number(waitMs))
  }
}

const markOf = (row: Row | undefined): Mark | null =>
  row?.epoch == null ? null : { epoch: Number(row.epoch), sequence: Number(row.sequence) }

/** Disk full, out of memory, or a limit of the server's own. */
const isOutOfMemory = (error: unknown) => ['53100', '53200', '53400'].includes(sqlState(error) ?? '')

const refused = (cause: unknown) =>
  new RegrowError(
    outOfMemory,
    'The queue has no memory for more hints',
    'Fewer are pushed for a while; the rows wait in the store. Give the server more room, or lower `maxHints`.',
    cause,
  )
