// What `regrow({ store, queue })` takes: factories that open nothing until first use.
import type { Clock } from '../base/clock.ts'
import type { Queue } from '../queue/queue.ts'
import type { Store } from '../store/store.ts'

/** Opens a store; made by `postgres(…)`, `pglite(…)`. */
export interface StoreDriver {
  readonly kind: 'store'
  readonly name: string
  open(surroundings: { clock: Clock }): Promise<OpenStore>
}

export interface OpenStore {
  readonly store: Store
  /** The queue that goes with this store when none is given. */
  defaultQueue(): Queue
}

/** Opens a queue; made by `memory(…)` and others. */
export interface QueueDriver {
  readonly kind: 'queue'
  readonly name: string
  open(surroundings: { clock: Clock }): Promise<Queue>
}
