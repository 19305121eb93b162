// Every background thing is this Loop: `tick(signal)` does one round and returns the delay to the next.
// An error becomes an event and a longer delay, never a dead loop. Start and stop in any order.
import type { Clock } from './clock.ts'
import { type Random, spread } from './random.ts'

/** What a loop does. */
export interface LoopSpec {
  readonly name: string
  /** One round; returns the milliseconds until the next one. */
  tick(signal: AbortSignal): Promise<number>
  /** Delay after a first error, doubled up to 20 times its value. Defaults to 500 ms. */
  readonly errorDelayMs?: number
  /** A round that takes longer is given up and begun anew by the watchdog. Defaults to 60 s. */
  readonly stalledAfterMs?: number
  /** Resolves when nothing is under way that a round began and left to itself. Missing where rounds leave nothing. */
  leftOver?(): Promise<unknown>
}

export interface LoopSurroundings {
  readonly clock: Clock
  readonly random: Random
  readonly failed: (loop: string, error: unknown) => void
}

export class Loop {
  readonly spec: LoopSpec
  readonly #around: LoopSurroundings
  #running: { stop: AbortController; ended: Promise<void> } | undefined
  /** The last run that was stopped: nobody begins a round, and no stop is over, before its round is. */
  #ending: Promise<void> = Promise.resolve()
  #nap: AbortController | undefined
  #woken = false
  #roundSince: number | undefined
  #lastSuccess: number | undefined

  constructor(spec: LoopSpec, around: LoopSurroundings) {
    this.spec = spec
    this.#around = around
  }

  start(): void {
    if (this.#running) return
    const stop = new AbortController()
    this.#running = { stop, ended: this.#ending.then(() => this.#run(stop.signal)) }
  }

  /** Ends the loop; resolves when the present round is over. */
  async stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    running?.stop.abort()
    this.#nap?.abort(null)
    this.#ending = running?.ended ?? this.#ending
    await this.#ending
  }

  /** Begins the next round now instead of after its delay. */
  wake(): void {
    this.#woken = true
    this.#nap?.abort(null)
  }

  /** Milliseconds since the last round that succeeded; undefined before the first. */
  get successAgeMs(): number | undefined {
    return this.#lastSuccess === undefined ? undefined : this.#around.clock.now() - this.#lastSuccess
  }

  /** True when the present round has taken longer than `stalledAfterMs`; never of a loop that was stopped. */
  get stalled(): boolean {
    const since = this.#running && this.#roundSince
    return since !== undefined && this.#around.clock.now() - since > (this.spec.stalledAfterMs ?? 60_000)
  }

  /** Leaves a stalled round to itself (its signal aborts) and starts over. */
  abandon(): void {
    if (!this.#running) return
    this.#running.stop.abort()
    this.#nap?.abort(null)
    this.#running = undefined
    this.#roundSince = undefined
    this.#ending = Promise.resolve()
    this.start()
  }

  async #run(signal: AbortSignal): Promise<void> {
    let errors = 0
    while (!signal.aborted) {
      const delayMs = await this.#round(signal, errors)
      errors = delayMs.failed ? errors + 1 : 0
      if (signal.aborted) return
      if (!this.#woken) {
        const nap = new AbortController()
        this.#nap = nap
        // No delay is no timer: one of 0 ms takes a whole one, and a queue that is full is popped again at once.
        if (delayMs.ms > 0) await this.#around.clock.sleep(delayMs.ms, nap.signal)
        else await this.#around.clock.gather()
      }
      this.#woken = false
    }
  }

  async #round(signal: AbortSignal, errors: number): Promise<{ ms: number; failed: boolean }> {
    this.#roundSince = this.#around.clock.now()
    try {
      const ms = await this.spec.tick(signal)
      this.#lastSuccess = this.#around.clock.now()
      return { ms, failed: false }
    } catch (error) {
      if (!signal.aborted) this.#around.failed(this.spec.name, error)
      const delay = (this.spec.errorDelayMs ?? 500) * Math.min(2 ** errors, 20)
      return { ms: spread(this.#around.random, delay, 0.25), failed: true }
    } finally {
      if (!signal.aborted) this.#roundSince = undefined
    }
  }
}
