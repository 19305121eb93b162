// What `regrow({ store, queue })` takes: factories that open nothing until first use.
import type { Clock } from '../base/clock.ts'
import type { Transaction } from '../job/handler.ts'
import type { Queue, QueueRepair } from '../queue/queue.ts'
import type { Store } from '../store/store.ts'

/** Opens a store; made by `postgres(…)`, `pglite(…)`. `Tx` is what `ctx.tx` and `app.transaction` hand out. */
export interface StoreDriver<Tx = Transaction> {
  readonly kind: 'store'
  readonly name: string
  /** What is wrong with its options, a sentence each: told with the mistakes in declarations. Defaults to none. */
  readonly mistakes?: readonly string[]
  open(surroundings: StoreSurroundings): Promise<OpenStore<Tx>>
}

export interface StoreSurroundings {
  readonly clock: Clock
  /** The app's lease in ms: what holds a store's only connection must be over well before it. */
  readonly leaseMs: number
}

export interface OpenStore<Tx = Transaction> {
  readonly store: Store<Tx>
  /** The queue that goes with this store when none is given. */
  defaultQueue(): Queue
}

/** Opens a queue; made by `memory(…)` and others. */
export interface QueueDriver {
  readonly kind: 'queue'
  readonly name: string
  /** As those of a store. */
  readonly mistakes?: readonly string[]
  open(surroundings: QueueSurroundings): Promise<Queue>
}

export interface QueueSurroundings {
  readonly clock: Clock
  /** Which store the hints are of: a queue on a server that others use, too, must not mix them up with those of another one. */
  readonly identity: () => Promise<string>
  /** To be called when the queue deleted what was not its own: it is told, and the jobs are swept. */
  readonly onRepair?: (repair: QueueRepair) => void
}
