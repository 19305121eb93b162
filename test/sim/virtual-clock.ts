// Time for tests of the real core: it stands still while anything is under way, and jumps to the next timer when not.
import type { Clock } from '../../src/base/clock.ts'
import { Heap } from '../../src/base/heap.ts'

interface Timer {
  readonly at: number
  readonly order: number
  fire: (() => void) | undefined
}

export class VirtualClock implements Clock {
  #now = 0
  #order = 0
  #busy = 0
  readonly #timers = new Heap<Timer>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order))

  now = () => this.#now
  wall = () => 1_767_225_600_000 + this.#now

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order++, fire: undefined }
      const done = () => {
        timer.fire = undefined
        signal?.removeEventListener('abort', done)
        resolve()
      }
      timer.fire = done
      signal?.addEventListener('abort', done)
      this.#timers.push(timer)
    })
  }

  after(ms: number, then: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order++, fire: then }
    this.#timers.push(timer)
    return () => {
      timer.fire = undefined
    }
  }

  gather(): Promise<void> {
    return this.during(new Promise((resolve) => setImmediate(resolve)))
  }

  /** Time does not move while `work` is under way. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#busy++
    try {
      return await work
    } finally {
      this.#busy--
    }
  }

  /** Lets time pass until `done` answers true; false when `limitMs` passed first. `moved` hears each jump. */
  async run(done: () => Promise<boolean>, limitMs: number, moved: (now: number) => Promise<void>): Promise<boolean> {
    const until = this.#now + limitMs
    for (;;) {
      await this.#quiet()
      if (await done()) return true
      const next = this.#timers.peek()
      if (!next || next.at > until) return false
      this.#timers.pop()
      if (!next.fire) continue
      if (next.at > this.#now) {
        this.#now = next.at
        await moved(this.#now)
      }
      next.fire()
    }
  }

  /** Lets `ms` pass. */
  async pass(ms: number, moved: (now: number) => Promise<void> = async () => {}): Promise<void> {
    let over = false
    void this.sleep(ms).then(() => {
      over = true
    })
    await this.run(async () => over, ms, moved)
  }

  /** Resolves when nothing is under way and nothing more came up. */
  async #quiet(): Promise<void> {
    for (let still = 0; still < 2; still = this.#busy === 0 ? still + 1 : 0)
      await new Promise((resolve) => setImmediate(resolve))
  }
}
