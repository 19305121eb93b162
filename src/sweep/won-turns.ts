// Lower arrow: the turns that this process has won. A few passes run side by side, and the other turns of a batch wait for a place, for
// a moment at most. How many are won at once follows from how fast passes went: thousands of idle jobs cost a statement per batch.
import type { Clock } from '../base/clock.ts'
import type { Turn } from '../store/sweeps.ts'

/** Passes at a time in one process. One that takes long leaves its place to another: it may hang until its time limit. */
const places = { quickMax: 4, most: 16, quickMs: 2_000 }
/** Turns of one batch at most, and how long they wait for a place. S10: what a turn says is at most that old when its pass begins. */
const batch = { most: 64, waitMs: 250 }
/** Turns whose end is on its way; a store that is slow with these gets no further ones. */
const endingMax = 2 * batch.most

/** Makes the pass of a turn and ends the turn; calls `passed` in between, when the pass is over. */
export type MakeTurn = (turn: Turn, passed: () => void) => Promise<void>

export class WonTurns {
  readonly #clock: Clock
  /** Jobs whose pass is under way, and since when. */
  readonly #passing = new Map<string, number>()
  readonly #ending = new Set<string>()
  readonly #underWay = new Set<Promise<void>>()
  #waiting: { readonly turn: Turn; readonly make: MakeTurn }[] = []
  #size = places.quickMax
  #changed = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The job has a turn here that is not over. */
  has(job: string): boolean {
    return this.#passing.has(job) || this.#ending.has(job) || this.#waiting.some(({ turn }) => turn.job === job)
  }

  /** No turn is held here. */
  get idle(): boolean {
    return this.#passing.size === 0 && this.#ending.size === 0 && this.#waiting.length === 0
  }

  /** Resolves when every turn that has begun here is over. */
  async over(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Turns that may be won now; 0: every place is taken. */
  get room(): number {
    const free = this.#free()
    return free > 0 && this.#ending.size < endingMax ? free + this.#size - places.quickMax : 0
  }

  /**
   * Begins the passes of these turns as places come free. Resolves when all have begun and there is a place again, or after a moment: a
   * turn that has not begun by then is dropped, and won anew with what has changed. `whole`: there may be more where they came from.
   * True when it is worth asking for turns again at once.
   */
  async begin(turns: readonly Turn[], make: MakeTurn, whole: boolean, signal: AbortSignal): Promise<boolean> {
    this.#waiting = turns.map((turn) => ({ turn, make }))
    this.#fill()
    const quick = (!whole && this.#waiting.length === 0) || (await this.place(signal))
    const dropped = this.#waiting.splice(0).length
    if (dropped > 0) this.#size = Math.max(places.quickMax, turns.length - dropped)
    else if (whole && quick) this.#size = Math.min(batch.most, this.#size * 2)
    return whole || dropped > 0
  }

  /** Waits until there is a place for another turn, a moment at most; false: there is none. */
  async place(signal: AbortSignal): Promise<boolean> {
    const isThere = () => this.#waiting.length === 0 && this.room > 0
    if (isThere() || signal.aborted) return isThere()
    let end = () => {}
    await new Promise<void>((resolve) => {
      const stopTimer = this.#clock.after(batch.waitMs, resolve)
      signal.addEventListener('abort', resolve as () => void)
      this.#changed = () => isThere() && resolve()
      end = () => {
        stopTimer()
        signal.removeEventListener('abort', resolve as () => void)
        this.#changed = () => {}
      }
    })
    end()
    return isThere()
  }

  #free(): number {
    const now = this.#clock.now()
    const quick = [...this.#passing.values()].filter((since) => now - since < places.quickMs).length
    return Math.min(places.quickMax - quick, places.most - this.#passing.size)
  }

  #fill(): void {
    while (this.#waiting.length > 0 && this.#free() > 0) {
      const { turn, make } = this.#waiting.shift() as { turn: Turn; make: MakeTurn }
      const made = this.#make(turn, make).finally(() => this.#underWay.delete(made))
      this.#underWay.add(made)
    }
    this.#changed()
  }

  async #make(turn: Turn, make: MakeTurn): Promise<void> {
    const { job } = turn
    this.#passing.set(job, this.#clock.now())
    const passed = () => {
      if (!this.#passing.delete(job)) return
      this.#ending.add(job)
      this.#fill()
    }
    try {
      await make(turn, passed)
    } finally {
      this.#passing.delete(job)
      this.#ending.delete(job)
      this.#fill()
    }
  }
}
