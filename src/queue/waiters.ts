// Pops that wait for hints. What wakes them is up to the queue: a push of this process, or news from its server. It only makes
// them quicker: a pop that nothing wakes still looks again after a while (F32).
import type { Clock } from '../base/clock.ts'
import { waitUntilWoken } from '../base/wait.ts'
import type { PopJob, Popped, PopRequest } from './queue.ts'

/** One pop that waits, or is about to look. */
export class Waiter {
  /** What it waits for, with the room that it has for each job. */
  readonly jobs: ReadonlyMap<string, PopJob>
  #hasNews = false
  #wake: (() => void) | undefined
  #given: Popped | undefined

  constructor({ jobs, limit }: PopRequest) {
    this.jobs = new Map(
      jobs.filter((each) => each.limit > 0).map((each) => [each.job, { ...each, limit: Math.min(limit, each.limit) }]),
    )
  }

  get isAsleep(): boolean {
    return this.#wake !== undefined
  }

  /** True when a push came since its last look. */
  get hasNews(): boolean {
    return this.#hasNews
  }

  /** What it was given in its sleep: it need not look. */
  get given(): Popped | undefined {
    return this.#given
  }

  /** From now on the pop looks: answers whether there were news, and a push that comes later is news again. */
  beginLook(): boolean {
    const had = this.#hasNews
    this.#hasNews = false
    return had
  }

  wake(): void {
    this.#hasNews = true
    this.#rise()
  }

  /** Ends its sleep with what it waits for; false when it does not sleep. */
  give(popped: Popped): boolean {
    if (!this.isAsleep) return false
    this.#given = popped
    this.#rise()
    return true
  }

  async sleep(clock: Clock, ms: number, signal: AbortSignal | undefined, onSleep: () => void): Promise<void> {
    if (this.#hasNews) return
    await waitUntilWoken({ signal, timeout: { clock, ms } }, (wake) => {
      this.#wake = wake
      onSleep()
    })
    this.#wake = undefined
  }

  /** It does not sleep any more, from this moment on. */
  #rise(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}

export class Waiters {
  readonly #clock: Clock
  readonly #onSleep: (waiter: Waiter) => void
  readonly #all = new Set<Waiter>()
  #sleptAt = Number.NEGATIVE_INFINITY
  #isClosed = false

  /** `onSleep`: a pop has begun to sleep, so that the queue can see to it that it is woken. */
  constructor(clock: Clock, onSleep: (waiter: Waiter) => void = () => {}) {
    this.#clock = clock
    this.#onSleep = onSleep
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** When a pop last slept, by the clock. */
  get sleptAt(): number {
    return this.asleep().next().done ? this.#sleptAt : this.#clock.now()
  }

  /** A push from now on is not slept through. `leave` at the end. */
  join(request: PopRequest): Waiter {
    const waiter = new Waiter(request)
    this.#all.add(waiter)
    return waiter
  }

  leave(waiter: Waiter): void {
    this.#all.delete(waiter)
  }

  /** Those that wait for a job, asleep or not. */
  *of(job: string): Generator<Waiter> {
    for (const waiter of this.#all) if (waiter.jobs.has(job)) yield waiter
  }

  *asleep(): Generator<Waiter> {
    for (const waiter of this.#all) if (waiter.isAsleep) yield waiter
  }

  /** Wakes the pops that wait for one of these jobs; false when there are none. */
  wake(jobs: Iterable<string>): boolean {
    if (this.#all.size === 0) return false
    let woke = false
    for (const job of jobs)
      for (const waiter of this.of(job)) {
        waiter.wake()
        woke = true
      }
    return woke
  }

  wakeAll(): void {
    for (const waiter of this.#all) waiter.wake()
  }

  /** Until it is woken or given something, for `ms` at most, or until `signal` aborts or the queue closes. */
  async sleep(waiter: Waiter, ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#isClosed) return
    await waiter.sleep(this.#clock, ms, signal, () => this.#onSleep(waiter))
    this.#sleptAt = this.#clock.now()
  }

  /** Ends all sleeps; from now on nothing waits. */
  close(): void {
    this.#isClosed = true
    this.wakeAll()
  }
}
