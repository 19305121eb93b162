// Runs a suspect alone: a key that was running in two crashes may be their cause, or only a neighbour of it. Nothing else
// is started, what runs may end, then the suspect has the process to itself. After that normal work has at least as long.
import type { Clock } from '../base/clock.ts'
import type { Slots } from './slots.ts'

export interface SoloPorts {
  readonly clock: Clock
  readonly slots: Slots
  /** Handlers that will not end any more: nobody waits for their slots. */
  readonly stuck: () => number
  /** Resolves when no pop is under way that could start something. */
  readonly popped: () => Promise<void>
}

/** What running alone consists of. */
export interface SoloRun {
  /** Claims the suspect; false: it may not be run alone now. */
  reserve(): Promise<boolean>
  run(): Promise<void>
  /** Gives the claim back when the worker stops before it ran. */
  giveBack(): Promise<void>
}

/** The least time for normal work between two of them, and before the next one is tried after a refusal. */
const restMs = 1_000

export class Solo {
  readonly #ports: SoloPorts
  readonly #stopped = new AbortController()
  #hold = new AbortController()
  #restUntil = Number.NEGATIVE_INFINITY
  /** Ends when the suspect runs, or was given back. */
  #waiting: Promise<boolean> = Promise.resolve(false)

  constructor(ports: SoloPorts) {
    this.#ports = ports
  }

  /** True while nothing may be popped or started: somebody runs alone, or is about to. */
  get holding(): boolean {
    return this.#hold.signal.aborted
  }

  /** Aborts when a pop that waits should end, because somebody wants to run alone. */
  get signal(): AbortSignal {
    return this.#hold.signal
  }

  /** How long until this worker takes a suspect; 0: now. */
  waitMs(): number {
    if (this.holding || this.#stopped.signal.aborted) return restMs
    return Math.max(0, this.#restUntil - this.#ports.clock.now())
  }

  /** Claims a suspect, waits until nothing else runs, and runs it. Answers whether it was claimed. */
  async alone(run: SoloRun): Promise<boolean> {
    const { clock } = this.#ports
    const since = clock.now()
    this.#hold.abort()
    try {
      if (!(await run.reserve())) return false
      this.#waiting = this.#emptied(run)
      if (await this.#waiting) await run.run()
      return true
    } finally {
      this.#hold = new AbortController()
      // Fair to the others: they had to wait so long, now they have as much.
      const now = clock.now()
      this.#restUntil = now + Math.max(now - since, restMs)
    }
  }

  /** Lets nobody begin; resolves when who waited has given back. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#waiting.catch(() => {})
  }

  /** True when nothing runs any more; false when the worker stopped first, and the claim was given back. */
  async #emptied(run: SoloRun): Promise<boolean> {
    const { clock, slots, stuck, popped } = this.#ports
    const stopped = this.#stopped.signal
    await popped()
    const empty = () => slots.free >= slots.size - stuck()
    while (!empty() && !stopped.aborted) {
      const round = new AbortController()
      const either = AbortSignal.any([stopped, round.signal])
      // A slot that gets stuck is not given: looked at again each second.
      await Promise.race([slots.freed(either, empty), clock.sleep(1_000, either)])
      round.abort()
    }
    if (stopped.aborted) await run.giveBack()
    return !stopped.aborted
  }
}
