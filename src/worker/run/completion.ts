// The end of a call: its outcomes go to the settle, and its slot is free when they are recorded and the handler has ended. One object for
// all of it: at tens of thousands of runs a second each closure counts.
import type { Batcher, Group } from '../../base/batcher.ts'
import type { Events } from '../../base/events.ts'
import type { EventMap } from '../../job/event-map.ts'
import type { Slots } from '../capacity.ts'
import type { Claims } from '../held-claims.ts'
import type { Ended, RunTells, Settled } from '../stages.ts'

export interface EndingPorts {
  readonly settler: Batcher<Ended, Settled>
  readonly claims: Claims
  readonly slots: Slots
  readonly events: Events<EventMap>
}

export class Ending implements RunTells, Group<Ended, Settled> {
  items: readonly Ended[] = []
  readonly #ports: EndingPorts
  readonly #job: string
  readonly #recorded: (() => void) | undefined
  readonly #over: (() => void) | undefined
  /** A handler that never ends keeps its slot, and nothing else. */
  #open = 2

  /** `recorded` is called when the outcomes are, or cannot be; `over` when the handler has ended. */
  constructor(ports: EndingPorts, job: string, recorded?: () => void, over?: () => void) {
    this.#ports = ports
    this.#job = job
    this.#recorded = recorded
    this.#over = over
  }

  ended(list: Ended[]): void {
    this.items = list
    this.#ports.settler.put(this)
  }

  over(): void {
    this.#over?.()
    this.#close()
  }

  sent(): void {
    for (const { entry } of this.items) this.#ports.claims.forget(entry.take)
    this.#recorded?.()
    this.#close()
  }

  /** The store did not take the outcome: the beat gives the keys back, or somebody frees them. */
  failed(error: unknown): void {
    this.#ports.events.emit('loop.failed', { loop: 'settle', error })
    this.sent()
  }

  #close(): void {
    if (--this.#open === 0) this.#ports.slots.give(1, this.#job)
  }
}
