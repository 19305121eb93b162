// Slots of a batch between its pop and its start. A batch whose claim takes long, because its check hangs, gives them back: other jobs go
// on, and it starts with what is free when it comes.
import type { Clock } from '../base/clock.ts'
import type { Slots } from './capacity.ts'

/** A claim that takes longer than this keeps no slots waiting. */
const patienceMs = 250

export interface SlotReservationPorts {
  readonly clock: Clock
  readonly slots: Slots
  /** Jobs whose last claim took longer than that. */
  readonly slow: Set<string>
}

export class SlotReservation {
  readonly #ports: SlotReservationPorts
  readonly #job: string
  readonly #startedAt: number
  readonly #stopTimer: () => void
  #held: number

  /** `count`: slots that were taken for the batch. One of a slow job gives them back at once. */
  constructor(ports: SlotReservationPorts, job: string, count: number) {
    this.#ports = ports
    this.#job = job
    this.#held = count
    this.#startedAt = ports.clock.now()
    const giveAll = () => {
      ports.slow.add(job)
      this.give()
    }
    this.#stopTimer = ports.slow.has(job) ? () => {} : ports.clock.after(patienceMs, giveAll)
    if (ports.slow.has(job)) this.give()
  }

  /** The claim has come back; answers how many slots it still has. */
  claimed(): number {
    this.#stopTimer()
    if (this.#ports.clock.now() - this.#startedAt < patienceMs) this.#ports.slow.delete(this.#job)
    return this.#held
  }

  /** Gives back all but those that calls use now. Waiters are woken even when there is nothing to give: the job has room again. */
  give(used = 0): void {
    this.#stopTimer?.()
    const count = Math.max(0, this.#held - used)
    this.#held = 0
    this.#ports.slots.give(count, this.#job)
  }
}
