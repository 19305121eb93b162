// The time of a simulated history. Events fire one by one, in the order of their time; between two of them everything that
// became ready runs to its end. Events of the same moment come in an order drawn from the seed.
import { loadDrain, loadOperator, loadWorker } from '../../src/app/on-demand.ts'
import { Heap } from '../../src/base/heap.ts'
import type { Chance } from '../../src/base/random.ts'

interface Event {
  readonly at: number
  readonly tie: number
  fire: (() => void) | undefined
}

/** Undoes a planned event. */
export type Cancel = () => void

export class Kernel {
  /** Events that have fired. */
  steps = 0
  #now = 0
  #busy = 0
  readonly #chance: Chance
  readonly #events = new Heap<Event>((a, b) => a.at < b.at || (a.at === b.at && a.tie < b.tie))

  constructor(chance: Chance) {
    this.#chance = chance
  }

  /** Milliseconds since the history began. */
  now = (): number => this.#now

  /** `fire` happens in `ms`; never when that is infinite. */
  after(ms: number, fire: () => void): Cancel {
    if (ms === Number.POSITIVE_INFINITY) return () => {}
    const event: Event = { at: this.#now + Math.max(0, ms), tie: this.#chance.float(), fire }
    this.#events.push(event)
    return () => {
      event.fire = undefined
    }
  }

  /** Resolves in `ms`. */
  passed(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  /** No event fires while `work` is under way: it is real input and output, in no virtual time. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#busy++
    try {
      return await work
    } finally {
      this.#busy--
    }
  }

  /** Fires events until `done` holds; false when `limitMs` passed first, or nothing is left that could happen. */
  async run(done: () => boolean, limitMs: number): Promise<boolean> {
    // Loading takes real time: a history that begins meanwhile would differ from its replay.
    await Promise.all([loadWorker(), loadDrain(), loadOperator()])
    const until = this.#now + limitMs
    for (;;) {
      await this.#quiet()
      if (done()) return true
      const next = this.#next()
      if (!next || next.at > until) {
        this.#now = until
        return false
      }
      this.#events.pop()
      this.#now = next.at
      this.steps++
      next.fire?.()
    }
  }

  /** The next event that is still to happen; most deadlines are met, and their events fall away here. */
  #next(): Event | undefined {
    for (;;) {
      const next = this.#events.peek()
      if (!next || next.fire) return next
      this.#events.pop()
    }
  }

  /** Lets `ms` pass. */
  async pass(ms: number): Promise<void> {
    await this.run(() => false, ms)
  }

  /** Resolves when everything that is ready has run. */
  async #quiet(): Promise<void> {
    // Called when no promise is left to be served; a turn of the event loop would cost more than most events do.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    while (this.#busy > 0) await new Promise((resolve) => setImmediate(resolve))
  }
}
