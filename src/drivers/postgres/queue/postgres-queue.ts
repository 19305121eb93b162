// Hints in an UNLOGGED table beside the truth: no second server, nothing to vacuum for durability's sake.
import type { Clock } from '../../../base/clock.ts'
import { RegrowError } from '../../../base/errors.ts'
import { Optimism } from '../../../base/optimism.ts'
import { type Mark, readMark } from '../../../job/canary-mark.ts'
import { BlockingPop, type Look } from '../../../queue/blocking-pop.ts'
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
  type FillRequest,
  type FillResult,
  outOfMemory,
  type Popped,
  type PopRequest,
  type PushOptions,
  type Queue,
  type QueueInfo,
  type QueueInspection,
} from '../../../queue/queue.ts'
import type { Row, SqlDatabase, SqlExecutor } from '../../sql/client.ts'
import { sqlState } from '../store/errors.ts'
import { textArray } from '../store/list-encoding.ts'
import { fill } from './fill/fill.ts'
import { Notifier } from './notifier.ts'
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
  readonly #notifier: Notifier
  readonly #blockingPop: BlockingPop
  readonly #pushes: Pushes
  readonly #reached: Reached
  readonly #rotation: Rotation | undefined
  readonly #otherLane = new OtherLane()
  /** Of pages: trusted once no hint of the last one, a large one, was there. */
  readonly #optimism = new Optimism({
    looksAtFirst: Number.POSITIVE_INFINITY,
    looksAfterMistake: Number.POSITIVE_INFINITY,
  })
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(db: SqlExecutor, options: PostgresQueueOptions) {
    const { clock, notifier = new Notifier({ clock, listen: null }), bounds = {}, pages, rotates } = options
    this.#db = db
    this.filler = pages && { fill: (request) => this.#fill(pages, request) }
    this.#clock = clock
    this.#notifier = notifier
    this.#blockingPop = new BlockingPop({
      clock,
      waiters: notifier.waiters,
      look: async (request, hasNews) => (hasNews && (await this.#popFresh(request))) || this.#popDue(request),
      pollMs: (emptyLooks) =>
        notifier.listening ? pollMs.floor : Math.min(pollMs.quick * 2 ** emptyLooks, pollMs.floor),
    })
    this.#pushes = new Pushes(db, clock, { ...defaultBounds, ...bounds })
    this.#reached = new Reached(clock)
    this.#rotation = rotates && new Rotation(rotates, clock, options.rotation)
  }

  async push(hints: readonly Hint[], options?: PushOptions): Promise<Pushed> {
    if (hints.length === 0) return { added: 0, merged: 0, dropped: 0 }
    const pushed = await this.#during(this.#pushes.push(hints, options)).catch((error: unknown) => {
      throw isOutOfMemory(error) ? refused(error) : isHintsFault(error) ? unholdable(error) : error
    })
    this.#notifier.waiters.wake(new Set(hints.map(({ job }) => job)))
    return pushed
  }

  async pop(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    const popped = await this.#during(this.#blockingPop.pop(request, signal))
    if (popped.receipt) this.#rotation?.popped(true)
    return popped
  }

  async setMark({ epoch, sequence }: Mark): Promise<void> {
    await this.#db.query(statements.mark.set, [String(epoch), String(sequence)])
  }

  async advanceMark({ epoch, sequence }: Mark): Promise<Mark | null> {
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

  async #facts(): Promise<QueueInfo> {
    const [{ rows }, wakes] = await Promise.all([this.#db.query(statements.inspect.server), this.#notifier.canListen()])
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
    await this.#notifier.close()
    await this.#rotation?.over()
    await Promise.allSettled(this.#underWay)
  }

  /** As a push of swept hints, but the page does not leave the server. */
  async #fill(pages: Pages, request: FillRequest): Promise<FillResult> {
    const { room, done } = await this.#pushes.reserve(request.job, request.limit)
    let added = 0
    try {
      const looks = !this.#optimism.expectsNew(request.job)
      const filled = await this.#during(fill(pages, request, { room, looks }))
      added = filled.pushed.added
      // After a loss page follows page, and none has its hints; a look for each costs a third of the whole.
      if (added >= allNewFrom && filled.pushed.merged === 0) this.#optimism.trust(request.job)
      else this.#optimism.wasWrong(request.job)
      if (added > 0) this.#notifier.waiters.wake([request.job])
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

  /** What a push that was just heard of has brought, quicker; undefined: nothing. Both lanes were empty right before. */
  async #popFresh(request: PopRequest): Promise<Look | undefined> {
    const due = await this.#popBy(request, 'fresh', (wanted) =>
      this.#db.query(statements.pop.popFresh, [wanted, request.limit]),
    )
    return due.hints.length > 0 ? due : undefined
  }

  #popDue(request: PopRequest): Promise<Look> {
    const share = this.#otherLane.share(request.limit)
    return this.#popBy(request, 'all', (wanted) => this.#db.query(statements.pop.pop, [wanted, request.limit, share]))
  }

  async #popBy(
    request: PopRequest,
    lanes: 'fresh' | 'all',
    send: (wanted: string) => ReturnType<SqlExecutor['query']>,
  ): Promise<Look> {
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
      nextMs: row?.wait_ms == null ? Number.POSITIVE_INFINITY : Math.max(1, Number(row.wait_ms)),
    }
  }
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
  /** Defaults to one that hears of the pushes of this process alone. */
  readonly notifier?: Notifier
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
