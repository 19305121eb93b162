// When the real queue is down, hints of this process go through its memory: a decorator, so that nobody else knows. Then it
// is not shared, and each working process sweeps for itself. When the real queue answers again, what memory holds is thrown
// away: the rows are the truth, and the fleet's sweep brings them.
import type { Clock } from '../base/clock.ts'
import { withDeadline } from '../base/deadline.ts'
import { RegrowError } from '../base/errors.ts'
import type { LoopSpec } from '../base/loop.ts'
import type { Hint, Pushed } from './hint.ts'
import { MemoryQueue } from './memory.ts'
import type { Popped, PopRequest, PushOptions, Queue } from './queue.ts'
import { wrapQueue } from './wrap-queue.ts'

/** S16: a pop that takes so much longer than it may wait is one of a queue that is down. */
const popPatienceMs = 5_000
const pushPatienceMs = 10_000
/** While it answers, nobody needs to ask: who finds it down wakes the loop. */
const quietMs = 60_000
/** How often it is asked whether it is back; longer and longer when it says so and fails again within `soonMs`. */
const probe = { everyMs: 1_000, mostMs: 60_000, patienceMs: 3_000, soonMs: 10_000 }

export interface FallbackEvents {
  /** The real queue failed; from now on memory stands in. Called again when it is down for another reason. */
  readonly down: (error: unknown) => void
  /** It answers again; so many hints of this process's memory were thrown away. */
  readonly up: (downMs: number, discarded: number) => Promise<void>
}

/** A queue that may be standing in for the real one. */
export type GuardedQueue = Queue & { readonly down: boolean }

export class Fallback {
  /** The real queue, with memory in its place while it is down. */
  readonly queue: GuardedQueue
  readonly #real: Queue
  readonly #memory: MemoryQueue
  readonly #clock: Clock
  readonly #events: FallbackEvents
  /** Since when the real queue is down. */
  #downAt: number | undefined
  /** This process pops: hints in its memory would be useless to any other. */
  #working = false
  /** How often the real queue came back: a call from before that says nothing about now. */
  #ups = 0
  #upAt = Number.NEGATIVE_INFINITY
  #probeMs = probe.everyMs
  /** The last reported reason for being down. */
  #toldCode: string | undefined

  constructor(real: Queue, clock: Clock, events: FallbackEvents) {
    this.#real = real
    this.#clock = clock
    this.#memory = new MemoryQueue(clock)
    this.#events = events
    const isDown = () => this.#down
    this.queue = wrapQueue(real, {
      get down() {
        return isDown()
      },
      /** M38: memory that stands in is not the queue of a fleet. */
      get shared() {
        return real.shared && !isDown()
      },
      /** While the queue is down, the caller pushes the page's keys instead, and finds out what is wrong. */
      get filler() {
        return isDown() ? undefined : real.filler
      },
      /** Memory that stands in says nothing about the real queue. */
      get inspection() {
        return isDown() ? undefined : real.inspection
      },
      get forget() {
        return isDown() ? undefined : real.forget?.bind(real)
      },
      push: (hints, options) => this.#push(hints, options),
      pop: (request, signal) => this.#pop(request, signal),
      count: (jobs) => (isDown() ? this.#memory : real).count(jobs),
      setMark: (mark) => this.#noticing('queue.setMark', () => real.setMark(mark)),
      advanceMark: (known) => this.#noticing('queue.advanceMark', () => real.advanceMark(known)),
      close: async () => {
        await this.#memory.close()
        await real.close()
      },
    })
  }

  get #down(): boolean {
    return this.#downAt !== undefined
  }

  async #push(hints: readonly Hint[], options?: PushOptions): Promise<Pushed> {
    if (this.#down && this.#working) return this.#memory.push(hints, inMemory(options))
    const ups = this.#ups
    try {
      return await withDeadline(this.#clock, pushPatienceMs, 'queue.push', this.#real.push(hints, options))
    } catch (error) {
      // One connection that broke is no outage, nor is a refusal: this push is dropped and told, the next one gets through.
      if (!this.#working || isRefusal(error)) throw error
      const why = await this.#refusal()
      if (why === undefined) throw error
      this.#fail(isRefusal(why) ? why : error, ups)
      return this.#memory.push(hints, inMemory(options))
    }
  }

  async #pop(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    this.#working = true
    for (let tries = 1; !this.#down; tries++) {
      const ups = this.#ups
      try {
        const patienceMs = request.waitMs + popPatienceMs
        return await withDeadline(this.#clock, patienceMs, 'queue.pop', this.#real.pop(request, signal))
      } catch (error) {
        const why = await this.#refusal()
        if (tries > 1 || why !== undefined) this.#fail(isRefusal(why) ? why : error, ups)
        else if (signal?.aborted) throw error
      }
    }
    return this.#memory.pop(request, signal)
  }

  /** Asks the real queue whether it is back, while it is down. */
  probing(): LoopSpec {
    return {
      name: 'queue_probe',
      tick: async () => {
        const since = this.#downAt
        if (since === undefined) return quietMs
        const waitMs = since + this.#probeMs - this.#clock.now()
        if (waitMs > 0) return waitMs
        const why = await this.#refusal()
        if (why !== undefined) {
          // Down for one reason, and then for another that a person has to mend: that is told, too.
          if (isRefusal(why) && codeOf(why) !== this.#toldCode) this.#tell(why)
          return this.#probeMs
        }
        this.#downAt = undefined
        this.#ups++
        this.#upAt = this.#clock.now()
        await this.#events.up(this.#clock.now() - since, await this.#memory.wipe())
        return quietMs
      },
    }
  }

  /** Busy workers do not pop: that the queue is down they notice by its mark. */
  async #noticing<T>(what: string, work: () => Promise<T>): Promise<T> {
    const ups = this.#ups
    try {
      return await withDeadline(this.#clock, popPatienceMs, what, work())
    } catch (error) {
      const why = this.#working ? await this.#refusal() : undefined
      if (why !== undefined) this.#fail(isRefusal(why) ? why : error, ups)
      throw error
    }
  }

  /** Why the real queue does not serve; undefined: it does. */
  #refusal(): Promise<unknown> {
    return withDeadline(this.#clock, probe.patienceMs, 'queue.count', this.#real.count([])).then(
      () => undefined,
      (error: unknown) => error ?? new Error('The queue refused, and did not say why'),
    )
  }

  #tell(error: unknown): void {
    this.#toldCode = codeOf(error)
    this.#events.down(error)
  }

  #fail(error: unknown, ups: number): void {
    if (this.#down || ups !== this.#ups) return
    this.#downAt = this.#clock.now()
    const again = this.#downAt - this.#upAt < probe.soonMs
    this.#probeMs = again ? Math.min(this.#probeMs * 2, probe.mostMs) : probe.everyMs
    this.#tell(error)
  }
}

/** It answered, and said what is wrong with the call. */
const isRefusal = (error: unknown) => error instanceof RegrowError && !['deadline', 'store_away'].includes(error.code)

const codeOf = (error: unknown) => (error instanceof RegrowError ? error.code : undefined)

/** Memory is nobody's queue but this process's: it has no epoch. */
const inMemory = ({ share = 1 }: PushOptions = {}): PushOptions => ({ share })
