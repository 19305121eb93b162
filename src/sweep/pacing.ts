// The hints of one pass on their way to the queue: not faster than its ramp allows, and with a sign of life now and then.
import type { Clock } from '../base/clock.ts'
import { allowedBy, rampStepMs } from './ramp.ts'

export interface RampedPorts {
  readonly clock: Clock
  /** Stores the cursor and keeps the turn; false: it is somebody else's now. */
  readonly advance: (cursor: string | null, pushed: number) => Promise<boolean>
}

/**
 * So often at most a pass shows between its pushes that it lives, and sees that its turn was taken: after a loss the hints of
 * the pass before would stand in front of those that were lost, and nobody would ramp them.
 */
const signMs = 100

export class Ramped {
  readonly #ports: RampedPorts
  readonly #signal: AbortSignal
  readonly #rampedAt: number | null
  #pushed = 0
  #signAt: number

  /** `rampedMs`: since everything came back at once; null: it did not. */
  constructor(ports: RampedPorts, rampedMs: number | null, signal: AbortSignal) {
    this.#ports = ports
    this.#signal = signal
    this.#signAt = ports.clock.now()
    this.#rampedAt = rampedMs === null ? null : ports.clock.now() - rampedMs
  }

  /** True for the pass that brings everything back. */
  get ramps(): boolean {
    return this.#rampedAt !== null
  }

  /** Whether a page that is over is stored as such: each one, but when everything is to come back only as often as a sign is due. */
  signs(): boolean {
    const now = this.#ports.clock.now()
    if (this.ramps && now - this.#signAt < signMs) return false
    this.#signAt = now
    return true
  }

  /** How many may be pushed now, one at least: waits until that is so, or tells why nothing more is to be pushed. */
  async room(cursor: string | null): Promise<number | 'lost' | 'stopped'> {
    const { clock, advance } = this.#ports
    for (;;) {
      if (clock.now() - this.#signAt >= signMs) {
        if (!(await advance(cursor, this.#pushed))) return 'lost'
        this.#signAt = clock.now()
      }
      const room = this.roomNow()
      if (room >= 1) return room
      if (this.#signal.aborted) return 'stopped'
      await clock.sleep(rampStepMs, this.#signal)
    }
  }

  /** How many may be pushed now, without waiting. */
  roomNow(): number {
    const since = this.#rampedAt === null ? null : this.#ports.clock.now() - this.#rampedAt
    return allowedBy(since) - this.#pushed
  }

  /** So many are pushed, or about to be. */
  note(added: number): void {
    this.#pushed += added
  }
}
