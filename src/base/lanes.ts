// Shares a few places between lanes, so that a lane whose work hangs delays itself alone. Work that turns out slow leaves its place to
// others and counts as slow; lanes that were slow last share places of their own, and never take those that are kept for quick ones.
import type { Clock } from './clock.ts'
import { RegrowError } from './errors.ts'

export interface LanesOptions {
  /** What the places are for, for the error of work that found none. */
  readonly what: string
  /** Places in all. */
  readonly most: number
  /** Places that slow lanes never take; they have one at least. */
  readonly kept: number
  /** Places that quick lanes take at most. */
  readonly quick: number
}

/** Work that takes longer than this is slow. */
export const slowMs = 250
/** Slow work of one lane at a time. */
const slowPerLane = 2
/** Slow work is cancelled after this long. */
const limitMs = 15_000
/** Work that waits longer than this for a place is rejected: its caller tries again, and must not leave it in line. */
const patienceMs = 8_000

interface Lane {
  slow: boolean
  running: number
  /** How many of these are slow. */
  slowRunning: number
}

interface Place {
  readonly signal: AbortSignal
  /** Ends the work; answers whether it had to end because others needed its place. */
  leave(): { readonly evicted: boolean }
}

interface Waiter {
  readonly name: string
  readonly begin: () => void
}

export class Lanes {
  readonly #clock: Clock
  readonly #options: LanesOptions
  readonly #slowMost: number
  readonly #lanes = new Map<string, Lane>()
  #line: Waiter[] = []
  /** Running in kept places, and in the others. */
  #quick = 0
  #slow = 0

  constructor(clock: Clock, options: LanesOptions) {
    this.#clock = clock
    this.#options = options
    this.#slowMost = Math.max(1, options.most - options.kept)
  }

  /** True when the last work of this lane was slow, or the one that runs is. */
  isSlow(name: string): boolean {
    return this.#lanes.get(name)?.slow === true
  }

  /**
   * Runs `work` when there is a place for it. Its signal aborts when it has to end; where that is only because a place is needed, it
   * runs again when there is one for slow work, unless `again` is false.
   */
  async run<T>(name: string, work: (signal: AbortSignal) => Promise<T>, { again = true } = {}): Promise<T> {
    for (;;) {
      const place = this.#mayBegin(name) ? this.#take(name) : await this.#wait(name)
      try {
        const result = await work(place.signal)
        place.leave()
        return result
      } catch (error) {
        if (!place.leave().evicted || !again) throw error
      }
    }
  }

  #lane(name: string): Lane {
    const lane = this.#lanes.get(name) ?? { slow: false, running: 0, slowRunning: 0 }
    this.#lanes.set(name, lane)
    return lane
  }

  #mayBegin(name: string): boolean {
    const { most, quick } = this.#options
    if (this.#quick + this.#slow >= most) return false
    const lane = this.#lanes.get(name)
    return lane?.slow ? lane.running < slowPerLane && this.#slow < this.#slowMost : this.#quick < quick
  }

  #wait(name: string): Promise<Place> {
    return new Promise((resolve, reject) => {
      const stopTimer = this.#clock.after(patienceMs, () => {
        this.#line = this.#line.filter((each) => each !== waiter)
        reject(this.#noPlace(name))
      })
      const waiter: Waiter = {
        name,
        begin: () => {
          stopTimer()
          resolve(this.#take(name))
        },
      }
      this.#line.push(waiter)
    })
  }

  /** Takes a place; work that turns slow leaves it to others. */
  #take(name: string): Place {
    const lane = this.#lane(name)
    const controller = new AbortController()
    const startedAt = this.#clock.now()
    let evicted = false
    let isSlow = lane.slow
    let stopTimer = () => {}
    const limit = () => {
      stopTimer = this.#clock.after(limitMs - slowMs, () => controller.abort())
    }
    const turnSlow = () => {
      lane.slow = true
      if (this.#slow >= this.#slowMost) {
        evicted = true
        return controller.abort()
      }
      isSlow = true
      this.#count(lane, -1, false)
      this.#count(lane, 1, true)
      limit()
      this.#next()
    }
    this.#count(lane, 1, isSlow)
    if (isSlow) limit()
    else stopTimer = this.#clock.after(slowMs, turnSlow)
    return {
      signal: controller.signal,
      leave: () => {
        stopTimer()
        this.#count(lane, -1, isSlow)
        lane.slow = evicted || lane.slowRunning > 0 || this.#clock.now() - startedAt >= slowMs
        if (!lane.slow && lane.running === 0) this.#lanes.delete(name)
        this.#next()
        return { evicted }
      },
    }
  }

  #count(lane: Lane, one: 1 | -1, isSlow: boolean): void {
    lane.running += one
    if (isSlow) {
      lane.slowRunning += one
      this.#slow += one
    } else this.#quick += one
  }

  /** Lanes without anything under way go first: it is unknown whether they are quick. */
  #next(): void {
    while (this.#line.length > 0) {
      const idle = this.#line.findIndex(({ name }) => this.#mayBegin(name) && !this.#lanes.get(name)?.running)
      const at = idle >= 0 ? idle : this.#line.findIndex(({ name }) => this.#mayBegin(name))
      if (at < 0) return
      this.#line.splice(at, 1)[0]?.begin()
    }
  }

  #noPlace(name: string): RegrowError {
    return new RegrowError(
      'deadline',
      `${this.#options.what} of "${name}" waited ${patienceMs / 1_000} s for a connection: ${this.isSlow(name) ? 'earlier ones are slow or hang' : 'all of them are in use'}`,
      'Is a table locked, or the server overloaded?',
    )
  }
}
