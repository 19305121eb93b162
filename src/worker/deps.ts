// What a worker is given: the ports of both sides, and how it is meant to work.
import type { Clock } from '../base/clock.ts'
import type { Events } from '../base/events.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Handler } from '../job/handler.ts'
import type { Job } from '../job/job.ts'
import type { Push } from '../queue/push.ts'
import type { PopQueue } from '../queue/queue.ts'
import type { ClaimKeys } from '../store/claim.ts'
import type { Source } from '../store/source.ts'
import type { Store } from '../store/store.ts'
import type { BeginSlots } from './admit-slots.ts'
import type { StartBudget } from './start-budget.ts'

export interface WorkerPorts {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events<EventMap>
  readonly log: Log
  readonly store: Pick<
    Store<unknown>,
    'ledger' | 'workers' | 'sweeps' | 'intents' | 'transaction' | 'connections' | 'classify'
  > & { readonly claim: ClaimKeys }
  readonly source: (job: Job) => Source
  readonly queue: PopQueue
  readonly push: Push
  /** Asked before slots of schedules start. */
  readonly begin: BeginSlots
}

export interface WorkerOptions {
  readonly handlers: readonly Handler[]
  readonly concurrency: number
  readonly leaseMs: number
  readonly host: string
  readonly pid: number
  /** Set for a drain: it begins only what is due when it asks, as many keys as this allows, and notes in the store that it was there. */
  readonly drain?: StartBudget | undefined
  /** Called when the store knows of this worker. */
  readonly registered: () => void
}
