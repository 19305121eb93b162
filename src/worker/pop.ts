// Upper arrow, step pop: takes as many hints from the queue as there are free slots, of each job as many as it may have
// at a time, and sends them on job by job.
import type { Clock } from '../base/clock.ts'
import { groupBy } from '../base/group-by.ts'
import type { Handler } from '../job/handler.ts'
import { isOwn } from '../job/job.ts'
import type { PoppedHint } from '../queue/hint.ts'
import type { Popped, PopQueue, PopRequest } from '../queue/queue.ts'
import type { Slots } from './capacity.ts'
import type { LookAgain } from './recheck.ts'

export interface IntakePorts {
  readonly clock: Clock
  readonly queue: PopQueue
  readonly slots: Slots
  readonly lookAgain: LookAgain
  readonly handlers: readonly Handler[]
  /** False while our lease is not sure: what is popped could not be started. */
  readonly mayStart: () => boolean
  /** True if this handler accepts a hint that is still in the queue: its batch then carries the receipt that removes it. */
  readonly receipts: (handler: Handler) => boolean
  /** Batches of that job between pop and start. */
  readonly claiming: (job: string) => number
  /** True for a job whose last batch was long on its way: it has one at a time. */
  readonly slow: (job: string) => boolean
  /** Takes one batch of one job along the arrow; `slots` are its own from now on. Resolves when it has started. */
  readonly through: (handler: Handler, batch: Batch, slots: number) => Promise<void>
}

/** Hints of one job. */
export type Batch = Pick<Popped, 'hints' | 'receipt'>

/** A pop waits so long at most; the floor under every wake-up. */
const pollMs = 1_000
const notSureMs = 50
/**
 * Batches of a job on their way to their start. While three of them ask the store, slots that become free gather for the next
 * pop: keys that end one by one would otherwise be taken and checked one by one. When idle, nobody waits.
 */
const claimingMax = 3
/** Keys per take, and per check: the rest of a large pop goes beside it, and what was checked first runs meanwhile. */
const claimMax = 2_000
/** With fewer free slots than this share of all, a pop waits so long for more. */
const gather = { share: 8, ms: 5 }
/** A pop that emptied the queue is followed by the next one when what it found has started, or so much later. */
const startMs = 5

export class Intake {
  readonly #ports: IntakePorts
  readonly #handlers: ReadonlyMap<string, Handler>
  #pops = 0

  constructor(ports: IntakePorts) {
    this.#ports = ports
    this.#handlers = new Map(ports.handlers.map((handler) => [handler.job.name, handler]))
  }

  async tick(signal: AbortSignal): Promise<number> {
    const { slots, lookAgain, mayStart } = this.#ports
    if (!mayStart()) return notSureMs
    await this.#roomOrPoll(signal)
    await this.#gathered(signal)
    // Meanwhile a lease may have become unsure, or somebody may want all slots.
    if (!mayStart()) return notSureMs
    void this.#dispatch({ hints: lookAgain.due(slots.free, this.#room) })
    if (!this.#anyRoom() || signal.aborted) return 0
    const { emptied, ...popped } = await this.#pop(signal)
    const started = this.#dispatch(popped)
    if (emptied) await this.#orSoon(started)
    return 0
  }

  /** Begins what is due now, and waits for no hint. `waiting`: only what runs can make room for more; `nothing`: no hint is due. */
  async popDue(signal: AbortSignal): Promise<'began' | 'waiting' | 'nothing'> {
    const { mayStart, queue } = this.#ports
    if (!mayStart()) return 'waiting'
    await this.#roomOrPoll(signal)
    if (!mayStart() || !this.#anyRoom() || signal.aborted) return 'waiting'
    const { jobs, full } = this.#wanted()
    const asked = jobs.map(({ job, limit }) => ({ job, limit }))
    const { hints } = await queue.pop({ ...this.#sized(asked), waitMs: 0 }, signal)
    void this.#dispatch({ hints })
    return hints.length > 0 ? 'began' : full.length > 0 ? 'waiting' : 'nothing'
  }

  /** The next look at a queue that is empty would only keep both servers from what was found in it. */
  #orSoon(started: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = this.#ports.clock.after(startMs, resolve)
      void started.finally(() => {
        stopTimer()
        resolve()
      })
    })
  }

  /** `emptied`: there were hints, and fewer than were asked for of any job. */
  async #pop(signal: AbortSignal): Promise<Batch & { readonly emptied: boolean }> {
    const { lookAgain } = this.#ports
    const { jobs, full } = this.#wanted()
    const waitMs = Math.min(pollMs, lookAgain.nextMs(this.#room))
    const request = { ...this.#sized(jobs), waitMs }
    const { hints, receipt } = await this.#popOr(request, full, signal)
    const isLess = ({ job, limit }: PopRequest['jobs'][number]) =>
      hints.length < limit || hints.filter((hint) => hint.job === job).length < limit
    const emptied = hints.length > 0 && hints.length < request.limit && request.jobs.every(isLess)
    return { hints, emptied, receipt }
  }

  /** What may be asked for now, and the jobs that are at their limit. */
  #wanted(): { readonly jobs: PopRequest['jobs']; readonly full: readonly string[] } {
    const names = this.#inTurn()
    // S15: only hints of jobs whose handler we have; the others wait for somebody who has it. A job at its limit is left
    // out, and so is its look again: neither keeps the others waiting, nor is it asked for over and over.
    const jobs = names
      .map((job) => {
        const handler = this.#handlers.get(job) as Handler
        return { job, limit: this.#room(job), receipts: this.#ports.receipts(handler) }
      })
      .filter(({ limit }) => limit > 0)
    return { jobs, full: names.filter((job) => this.#room(job) <= 0) }
  }

  /**
   * As many hints as there are free slots: each may be a call. Where all handlers of the user take batches, one batch of the smallest
   * size is a call per job at most; regrow's own jobs, which have hardly ever one, get what slots these leave.
   */
  #sized(jobs: PopRequest['jobs']): Pick<PopRequest, 'jobs' | 'limit'> {
    const { free } = this.#ports.slots
    const batchOf = ({ job }: { readonly job: string }) => this.#handlers.get(job)?.job.batch ?? null
    const takesBatches = (each: { readonly job: string }) => batchOf(each) !== null
    const batches = jobs.filter(takesBatches)
    const others = jobs.length - batches.length
    const left = Math.floor((free - batches.length) / Math.max(1, others))
    if (
      batches.length === 0 ||
      left < Math.min(1, others) ||
      jobs.some((each) => !takesBatches(each) && !isOwn(each.job))
    )
      return { jobs, limit: free }
    const smallest = Math.min(...batches.map((each) => batchOf(each) ?? 1))
    return {
      jobs: jobs.map((each) => (takesBatches(each) ? each : { ...each, limit: Math.min(each.limit, left) })),
      limit: Math.max(free, smallest),
    }
  }

  /** Ends early when one of the jobs that are at their limit no longer is. */
  async #popOr(request: PopRequest, full: readonly string[], signal: AbortSignal): Promise<Popped> {
    const { queue, slots } = this.#ports
    if (full.length === 0) return queue.pop(request, signal)
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    // A job that gets below its limit does not wait for the hints of another.
    void slots.freed(() => full.some((job) => this.#room(job) > 0), { signal: either }).then(() => over.abort(null))
    try {
      return await queue.pop(request, either)
    } finally {
      over.abort(null)
    }
  }

  /** Keys of that job that may be popped now: a call has one of them, or up to a batch. */
  readonly #room = (name: string): number => {
    const { slots, claiming, slow } = this.#ports
    const handler = this.#handlers.get(name)
    if (!handler || claiming(name) >= (slow(name) ? 1 : claimingMax)) return 0
    return slots.room(name) * (handler.job.batch ?? 1)
  }

  readonly #anyRoom = (): boolean => [...this.#handlers.keys()].some((name) => this.#room(name) > 0)

  /** Not longer than a poll: a round that waits for slow handlers is not a stalled one. */
  async #roomOrPoll(signal: AbortSignal): Promise<void> {
    const { slots, clock } = this.#ports
    await slots.freed(this.#anyRoom, { signal, timeout: { clock, ms: pollMs } })
  }

  /**
   * A busy worker waits a moment for more slots: calls that end one by one would be followed by pops, takes and checks of
   * one key each. One that has slots to spare waits for nothing.
   */
  async #gathered(signal: AbortSignal): Promise<void> {
    const { slots, clock } = this.#ports
    const enough = () => slots.free >= slots.size / gather.share
    await slots.freed(enough, { signal, timeout: { clock, ms: gather.ms } })
  }

  /** Another job is named first each time: queues may serve them in this order, and one without end would starve the rest. */
  #inTurn(): string[] {
    const names = [...this.#handlers.keys()]
    const first = this.#pops++ % names.length
    return [...names.slice(first), ...names.slice(0, first)]
  }

  /** Resolves when all of them have started. */
  async #dispatch({ hints, ...rest }: Batch): Promise<void> {
    const starting: Promise<void>[] = []
    for (const [name, batch] of groupBy(hints, ({ job }) => job)) {
      const handler = this.#handlers.get(name)
      if (!handler) continue
      // A batch is one call and has one slot; what was popped for all free slots may be several of them.
      const size = handler.job.batch ?? claimMax
      for (let at = 0; at < batch.length; at += size) {
        const part = batch.slice(at, at + size)
        const calls = handler.job.batch === null ? part.length : 1
        this.#ports.slots.take(calls, name)
        starting.push(this.#ports.through(handler, { hints: part, ...rest }, calls))
      }
    }
    await Promise.all(starting)
  }
}

/** A handler of batches gets a full one where the queue has it; it is still one call. */
export async function fillBatch(
  queue: PopQueue,
  handler: Handler,
  popped: readonly PoppedHint[],
): Promise<readonly PoppedHint[]> {
  const limit = (handler.job.batch ?? 0) - popped.length
  if (limit <= 0) return popped
  const { hints } = await queue.pop({ jobs: [{ job: handler.job.name, limit }], limit, waitMs: 0 })
  return [...popped, ...hints]
}
