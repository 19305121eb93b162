// Upper arrow, step pop: takes as many hints from the queue as there are free slots, and sends them on job by job.
import type { Clock } from '../base/clock.ts'
import { groupBy } from '../base/group-by.ts'
import type { Handler } from '../job/handler.ts'
import type { PoppedHint } from '../queue/hint.ts'
import type { PopQueue } from '../queue/queue.ts'
import type { LookAgain } from './look-again.ts'
import type { Slots } from './slots.ts'

export interface IntakePorts {
  readonly clock: Clock
  readonly queue: PopQueue
  readonly slots: Slots
  readonly lookAgain: LookAgain
  readonly handlers: readonly Handler[]
  /** False while our lease is not sure: what is popped could not be started. */
  readonly mayStart: () => boolean
  /** Takes one batch of one job along the arrow; `slots` are its own from now on. */
  readonly through: (handler: Handler, hints: readonly PoppedHint[], slots: number) => void
}

/** A pop waits so long at most; the floor under every wake-up. */
const pollMs = 1_000
const notSureMs = 50

export class Intake {
  readonly #ports: IntakePorts
  readonly #handlers: ReadonlyMap<string, Handler>
  #pops = 0

  constructor(ports: IntakePorts) {
    this.#ports = ports
    this.#handlers = new Map(ports.handlers.map((handler) => [handler.job.name, handler]))
  }

  async tick(signal: AbortSignal): Promise<number> {
    const { queue, slots, lookAgain, mayStart } = this.#ports
    if (!mayStart()) return notSureMs
    await this.#slotOrPoll(signal)
    this.#dispatch(lookAgain.due(slots.free))
    const limit = slots.free
    if (limit <= 0 || signal.aborted) return 0
    // S15: only hints of jobs whose handler we have; the others wait for somebody who has it.
    const jobs = this.#inTurn().map((job) => ({ job, limit }))
    const { hints } = await queue.pop({ jobs, limit, waitMs: Math.min(pollMs, lookAgain.nextMs()) }, signal)
    this.#dispatch(hints)
    return 0
  }

  /** Not longer than a poll: a round that waits for slow handlers is not a stalled one. */
  async #slotOrPoll(signal: AbortSignal): Promise<void> {
    if (this.#ports.slots.free > 0) return
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    await Promise.race([this.#ports.slots.freed(either), this.#ports.clock.sleep(pollMs, either)])
    over.abort()
  }

  /** Another job is named first each time: queues may serve them in this order, and one without end would starve the rest. */
  #inTurn(): string[] {
    const names = [...this.#handlers.keys()]
    const first = this.#pops++ % names.length
    return [...names.slice(first), ...names.slice(0, first)]
  }

  /** A handler of many keys gets a full batch where the queue has one. */
  async fill(handler: Handler, popped: readonly PoppedHint[]): Promise<readonly PoppedHint[]> {
    const limit = handler.batchMax - popped.length
    if (limit <= 0) return popped
    const { hints } = await this.#ports.queue.pop({ jobs: [{ job: handler.job.name, limit }], limit, waitMs: 0 })
    return [...popped, ...hints]
  }

  #dispatch(hints: readonly PoppedHint[]): void {
    for (const [name, batch] of groupBy(hints, ({ job }) => job)) {
      const handler = this.#handlers.get(name)
      if (!handler) continue
      // A batch is one call and has one slot; what was popped for all free slots may be several of them.
      const size = handler.many ? handler.batchMax : batch.length
      for (let at = 0; at < batch.length; at += size) {
        const part = batch.slice(at, at + size)
        const calls = handler.many ? 1 : part.length
        this.#ports.slots.take(calls)
        this.#ports.through(handler, part, calls)
      }
    }
  }
}
