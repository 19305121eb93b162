// Hints in an UNLOGGED table beside the truth: no second server, nothing to vacuum for durability's sake.
import type { Clock } from '../../../base/clock.ts'
import { RegrowError } from '../../../base/errors.ts'
import { difference, type Mark, readMark } from '../../../job/canary-mark.ts'
import {
  defaultBounds,
  type Hint,
  OtherLane,
  type PoppedHint,
  type Pushed,
  type QueueBounds,
} from '../../../queue/hint.ts'
import {
  badHint,
  type Filled,
  type FillRequest,
  outOfMemory,
  type Popped,
  type PopRequest,
  type PushOptions,
  type Queue,
  type QueueFacts,
  type QueueInspection,
} from '../../../queue/queue.ts'
import type { Row, SqlDatabase, SqlExecutor } from '../../sql/client.ts'
import { sqlState } from '../store/errors.ts'
import { textArray } from '../store/list-encoding.ts'
import { receiptOf } from '../store/opaque.ts'
import { fill } from './fill/fill.ts'
import { Bell, type NamedHint } from './notifier.ts'
import { Reached } from './pop/pop-cursor.ts'
import { isHintsFault, Pushes } from './push/hint-writer.ts'
import { Rotation, type RotationOptions } from './rotate-bloated-table.ts'
import { statements } from './statements.gen.ts'

/** Where nobody tells of pushes: a poll after a pop that found something, and the floor that it slows down to when idle. */
const pollMs = { quick: 20, floor: 1_000 }

/** A page that brought fewer hints says nothing of the next one; and one that is wrong about it is an error in the server's log. */
const allNewFrom = 1_000

export class PostgresQueue implements Queue {
  readonly name = 'postgres'
  readonly shared = true
  /** The tables are UNLOGGED: after a crash, on a promoted replica and in a base backup they are empty. */
  readonly rollsBack = false
  readonly filler: Queue['filler']
  readonly inspection: QueueInspection = {
    peek: (job, keys) => this.#peek(job, keys),
    facts: () => this.#facts(),
  }
  readonly #db: SqlExecutor
  readonly #clock: Clock
  readonly #bell: Bell
  readonly #pushes: Pushes
  readonly #reached: Reached
  readonly #rotation: Rotation | undefined
  readonly #otherLane = new OtherLane()
  /** Jobs of whose last page, a large one, no hint was there. */
  readonly #allNew = new Set<string>()
  readonly #underWay = new Set<Promise<unknown>>()
  #idleMs = pollMs.quick
  /** The mark of the pop before. */
  #mark: Mark | null = null
  #closed = false

  constructor(db: SqlExecutor, options: PostgresQueueOptions) {
    const { clock, bell = new Bell({ clock, listen: null }), bounds = {}, pages, rotates } = options
    this.#db = db
    this.filler = pages && { fill: (request) => this.#fill(pages, request) }
    this.#clock = clock
    this.#bell = bell
    this.#pushes = new Pushes(db, clock, { ...defaultBounds, ...bounds })
    this.#reached = new Reached(clock)
    this.#rotation = rotates && new Rotation(rotates, clock, options.rotation)
  }

  async push(hints: readonly Hint[], options?: PushOptions): Promise<Pushed> {
    if (hints.length === 0) return { added: 0, merged: 0, dropped: 0 }
    const pushed = await this.#during(this.#pushes.push(hints, options)).catch((error: unknown) => {
      throw isOutOfMemory(error) ? refused(error) : isHintsFault(error) ? unholdable(error) : error
    })
    this.#bell.ring(new Set(hints.map(({ job }) => job)))
    return pushed
  }

  pop(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    return this.#during(this.#wait(request, signal))
  }

  async #wait(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    if (request.waitMs <= 0) return this.#popDue(request)
    const until = this.#clock.now() + request.waitMs
    // Listening begins before the look, so that a push in between is not slept through.
    const waiter = this.#bell.join(new Map(request.jobs.map(({ job, receipts = false }) => [job, receipts])))
    try {
      for (;;) {
        const { rung } = waiter
        waiter.rung = false
        const { waitMs, ...popped } = (rung && (await this.#popFresh(request))) || (await this.#popDue(request))
        const leftMs = until - this.#clock.now()
        // Nobody waits for hints in a queue that was lost: who popped compares the mark.
        const lost = this.#mark !== null && difference(this.#mark, popped.mark) !== null
        this.#mark = popped.mark
        const found = popped.hints.length > 0 || lost
        if (found) this.#idleMs = pollMs.quick
        if (found || leftMs <= 0 || signal?.aborted || this.#closed) return popped
        const pollsMs = Math.min(this.#bell.listening ? pollMs.floor : this.#idleMs, waitMs)
        await this.#bell.rest(waiter, Math.min(leftMs, pollsMs), signal)
        this.#idleMs = Math.min(this.#idleMs * 2, pollMs.floor)
        if (waiter.named && !signal?.aborted && !this.#closed) return this.#named(waiter.named)
        // The wait is over and nothing rang: the next pop looks, at once.
        if (!waiter.rung && leftMs <= pollsMs && leftMs < waitMs) return popped
      }
    } finally {
      this.#bell.leave(waiter)
    }
  }

  async writeMark({ epoch, sequence }: Mark): Promise<void> {
    await this.#db.query(statements.mark.set, [String(epoch), String(sequence)])
  }

  async moveMark({ epoch, sequence }: Mark): Promise<Mark | null> {
    const { rows } = await this.#db.query(statements.mark.advance, [String(epoch), String(sequence)])
    return markOf(rows[0])
  }

  async count(jobs: readonly string[]) {
    const { rows } = await this.#db.query(statements.inspect.count, [JSON.stringify(jobs)])
    return new Map(rows.map((row) => [row.job as string, { due: Number(row.due), delayed: Number(row.delayed) }]))
  }

  async #peek(job: string, keys: readonly string[]) {
    const { rows } = await this.#db.query(statements.inspect.peek, [job, textArray(keys)])
    return new Map(
      rows.map((row) => [row.key as string, { dueInMs: Number(row.due_ms), fresh: row.fresh === true }] as const),
    )
  }

  async #facts(): Promise<QueueFacts> {
    const [{ rows }, wakes] = await Promise.all([this.#db.query(statements.inspect.server), this.#bell.hears()])
    return { size: { bytes: Number(rows[0]?.bytes), hints: Number(rows[0]?.hints) }, wakes }
  }

  async forget(job: string): Promise<number> {
    const { rows } = await this.#db.query(statements.forget, [job])
    this.#pushes.forget()
    return Number(rows[0]?.count ?? 0)
  }

  async wipe(): Promise<number> {
    const { rows } = await this.#db.query(statements.wipe)
    this.#pushes.forget()
    this.#reached.forget()
    return Number(rows[0]?.lost ?? 0)
  }

  /** Waits for what is under way: a pool of pg that is ended with a statement in line never answers it. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#bell.close()
    await this.#rotation?.over()
    await Promise.allSettled(this.#underWay)
  }

  /** As a push of swept hints, but the page does not leave the server. */
  async #fill(pages: Pages, request: FillRequest): Promise<Filled> {
    const { room, done } = await this.#pushes.reserve(request.job, request.limit)
    let added = 0
    try {
      const filled = await this.#during(fill(pages, request, { room, looks: !this.#allNew.has(request.job) }))
      added = filled.pushed.added
      // After a loss page follows page, and none has its hints; a look for each costs a third of the whole.
      if (added >= allNewFrom && filled.pushed.merged === 0) this.#allNew.add(request.job)
      else this.#allNew.delete(request.job)
      if (added > 0) this.#bell.ring([request.job])
      return filled
    } finally {
      done(added)
    }
  }

  #during<T>(call: Promise<T>): Promise<T> {
    const settled = call.finally(() => this.#underWay.delete(settled))
    this.#underWay.add(settled)
    return settled
  }

  /** A hint whose key the notification named. It is still in the queue; the claim removes it, unless another worker is quicker. */
  #named({ job, key }: NamedHint): Popped {
    this.#idleMs = pollMs.quick
    this.#rotation?.popped(true)
    return { hints: [{ job, key, fresh: true }], mark: undefined, receipt: receiptOf({ job, key }) }
  }

  /** What a push that was just heard of has brought, quicker; undefined: nothing. Both lanes were empty right before. */
  async #popFresh(request: PopRequest): Promise<Due | undefined> {
    const due = await this.#popBy(request, 'fresh', (wanted) =>
      this.#db.query(statements.pop.popFresh, [wanted, request.limit]),
    )
    return due.hints.length > 0 ? due : undefined
  }

  #popDue(request: PopRequest): Promise<Due> {
    const share = this.#otherLane.share(request.limit)
    return this.#popBy(request, 'all', (wanted) => this.#db.query(statements.pop.pop, [wanted, request.limit, share]))
  }

  async #popBy(
    request: PopRequest,
    lanes: 'fresh' | 'all',
    send: (wanted: string) => ReturnType<SqlExecutor['query']>,
  ): Promise<Due> {
    const wanted = this.#reached.from(request.jobs)
    const sentAt = this.#clock.now()
    const [row] = (await send(JSON.stringify(wanted))).rows
    const found = JSON.parse((row?.hints as string | null) ?? '[]') as [string, boolean, string[]][]
    const hints = found.flatMap(([job, fresh, keys]) => keys.map((key): PoppedHint => ({ job, key, fresh })))
    const reached = JSON.parse((row?.reached as string | null) ?? '[]')
    this.#reached.note(request, { hints, lanes, at: row?.at as string, reached, tookMs: this.#clock.now() - sentAt })
    this.#rotation?.popped(hints.length > 0)
    return {
      hints,
      mark: markOf(row),
      waitMs: row?.wait_ms == null ? Number.POSITIVE_INFINITY : Math.max(1, Number(row.wait_ms)),
    }
  }
}

/** What a pop found; `waitMs`: until a delayed hint comes due. */
interface Due extends Popped {
  readonly mark: Mark | null
  readonly waitMs: number
}

/** Runs statements that hold the user's SQL, with a time limit. */
type Pages = Pick<SqlDatabase, 'queryWithin'>

export interface PostgresQueueOptions {
  readonly clock: Clock
  /** What empties a table that has grown; missing: vacuum alone. */
  readonly rotates?: Pick<SqlDatabase, 'transaction'> & SqlExecutor
  readonly rotation?: RotationOptions
  /** Missing: pages come as keys. */
  readonly pages?: Pages
  /** Defaults to one that only this process rings. */
  readonly bell?: Bell
  readonly bounds?: Partial<QueueBounds>
}

const markOf = (row: Row | undefined): Mark | null => (row?.epoch == null ? null : readMark(row.epoch, row.sequence))

/** Disk full, out of memory, or a limit of the server's own. */
const isOutOfMemory = (error: unknown) => ['53100', '53200', '53400'].includes(sqlState(error) ?? '')

const unholdable = (cause: unknown) =>
  new RegrowError(
    badHint,
    'The queue cannot hold one of these hints',
    'It is left out, and named by the event hint.dropped; the others are pushed. Look at its key.',
    cause,
  )

const refused = (cause: unknown) =>
  new RegrowError(
    outOfMemory,
    'The queue has no memory for more hints',
    'Fewer are pushed for a while; the rows wait in the store. Give the server more room, or lower `maxHints`.',
    cause,
  )
