// When the real queue is down, hints of this process go through its memory: a decorator, so that nobody else knows. Then it
// is not shared, and each working process sweeps for itself. When the real queue answers again, what memory holds is thrown
// away: the rows are the truth, and the fleet's sweep brings them.
import type { Clock } from '../base/clock.ts'
import { withDeadline } from '../base/deadline.ts'
import { RegrowError } from '../base/errors.ts'
import type { LoopSpec } from '../base/loop.ts'
import type { Hint, Pushed } from './hint.ts'
import { MemoryQueue } from './memory.ts'
import type { Mark, Popped, PopRequest, PushOptions, Queue } from './queue.ts'

/** S16: a pop that takes so much longer than it may wait is one of a queue that is down. */
const popPatienceMs = 5_000
const pushPatienceMs = 10_000
/** While it answers, nobody needs to ask: who finds it down wakes the loop. */
const quietMs = 60_000
/** How often it is asked whether it is back; longer and longer when it says so and fails again within `soonMs`. */
const probe = { everyMs: 1_000, mostMs: 60_000, patienceMs: 3_000, soonMs: 10_000 }

export interface FallbackEvents {
  /** The real queue failed; from now on memory stands in. */
  readonly down: (error: unknown) => void
  /** It answers again; so many hints of this process's memory were thrown away. */
  readonly up: (downMs: number, thrownAway: number) => Promise<void>
}

export class FallbackQueue implements Queue {
  readonly name: string
  readonly #real: Queue
  readonly #memory: MemoryQueue
  readonly #clock: Clock
  readonly #events: FallbackEvents
  /** Since when the real queue is down. */
  #downAt: number | undefined
  /** Somebody pops here: hints in this process's memory are of use to nobody else. */
  #working = false
  /** How often it came back: a call from before that tells nothing of now. */
  #ups = 0
  #upAt = Number.NEGATIVE_INFINITY
  #probeMs = probe.everyMs
  /** What was told last of why it is down. */
  #toldCode: string | undefined

  /** Called when it is found to be down: what has to be done then waits for nothing. */
  onDown: () => void = () => {}

  constructor(real: Queue, clock: Clock, events: FallbackEvents) {
    this.#real = real
    this.name = real.name
    this.#clock = clock
    this.#memory = new MemoryQueue(clock)
    this.#events = events
  }

  get down(): boolean {
    return this.#downAt !== undefined
  }

  /** M38: memory that stands in is no queue of the fleet. */
  get shared(): boolean {
    return this.#real.shared && !this.down
  }

  get rollsBack(): boolean {
    return this.#real.rollsBack !== false
  }

  async push(hints: readonly Hint[], options?: PushOptions): Promise<Pushed> {
    if (this.down && this.#working) return this.#memory.push(hints, inMemory(options))
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

  /** Not while memory stands in. Who cannot push this way pushes the other one, and finds out what is wrong. */
  get pushFrom(): Queue['pushFrom'] {
    return this.down ? undefined : this.#real.pushFrom
  }

  async pop(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    this.#working = true
    for (let tries = 1; !this.down; tries++) {
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
      name: 'queue',
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

  writeMark(mark: Mark): Promise<void> {
    return this.#noticing('queue.writeMark', () => this.#real.writeMark(mark))
  }

  moveMark(known: Mark): Promise<Mark | null> {
    return this.#noticing('queue.moveMark', () => this.#real.moveMark(known))
  }

  count(jobs: readonly string[]) {
    return this.down ? this.#memory.count(jobs) : this.#real.count(jobs)
  }

  /** Not while memory stands in: what it holds says nothing of the queue. */
  get peek(): Queue['peek'] {
    return this.down ? undefined : this.#real.peek?.bind(this.#real)
  }

  /** As `peek`. */
  get examine(): Queue['examine'] {
    return this.down ? undefined : this.#real.examine?.bind(this.#real)
  }

  /** As `peek`. */
  get forget(): Queue['forget'] {
    return this.down ? undefined : this.#real.forget?.bind(this.#real)
  }

  wipe(): Promise<number> {
    return this.#real.wipe()
  }

  async close(): Promise<void> {
    await this.#memory.close()
    await this.#real.close()
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
    if (this.down || ups !== this.#ups) return
    this.#downAt = this.#clock.now()
    const again = this.#downAt - this.#upAt < probe.soonMs
    this.#probeMs = again ? Math.min(this.#probeMs * 2, probe.mostMs) : probe.everyMs
    this.#tell(error)
    this.onDown()
  }
}

/** It answered, and said what is wrong with the call. */
const isRefusal = (error: unknown) => error instanceof RegrowError && !['deadline', 'store_away'].includes(error.code)

const codeOf = (error: unknown) => (error instanceof RegrowError ? error.code : undefined)

/** Memory is nobody's queue but this process's: it has no epoch. */
const inMemory = ({ share = 1 }: PushOptions = {}): PushOptions => ({ share })
