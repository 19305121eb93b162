// What `regrow({ store, queue })` takes: factories that open nothing until first use.
import type { Clock } from '../base/clock.ts'
import type { Queue } from '../queue/queue.ts'
import type { Store } from '../store/store.ts'

/** Opens a store; made by `pglite(…)`. */
export interface StoreDriver {
  open(surroundings: { clock: Clock }): Promise<OpenStore>
}

export interface OpenStore {
  readonly store: Store
  /** The queue that goes with this store when none is given. */
  defaultQueue(): Queue
}

/** Opens a queue; made by `memory()`. */
export interface QueueDriver {
  open(surroundings: { clock: Clock }): Promise<Queue>
}
