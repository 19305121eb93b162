// What has to be known to say why a key does not run: what the tables, the pending query and the queue say of it, at one
// instant of the store's clock.
import type { PeekedHint } from '../../queue/queue.ts'
import type { Unmet } from '../../store/diagnosis.ts'
import type { KeyFacts } from '../../store/status.ts'
import type { QueueStatus } from '../status.ts'

/** What the pending query says of the key. */
export type PendingFacts =
  /** It returns it. `waitMs` above zero: `run_at` lies so far in the future. */
  | { readonly state: 'pending'; readonly version: string | null; readonly waitMs: number }
  /** It does not; why is null where nobody can tell. */
  | { readonly state: 'not'; readonly unmet: Unmet | null }
  /** It cannot be asked. */
  | { readonly state: 'broken'; readonly error: string }

/** Everything that decides whether a key runs. */
export interface WhyFacts extends KeyFacts {
  readonly job: string
  readonly kind: 'pending' | 'input' | 'schedule'
  readonly key: string
  /** The key as `regrow enqueue` takes it; null: it cannot be enqueued. */
  readonly item: string | null
  readonly pending: PendingFacts
  readonly queue: Omit<QueueStatus, 'unseen'>
  /** Its hint; null: there is none; `unknown`: the queue cannot tell, or is another process's. */
  readonly hint: PeekedHint | null | 'unknown'
  /** Due hints of the job; null: the queue did not tell. */
  readonly dueHints: number | null
  /** The pending query has a `version` column, so new work can be told from none done. */
  readonly versioned: boolean
  readonly attemptsMax: number
  /** Calls of the job at a time in one worker; null: as many as the worker has slots. */
  readonly concurrency: number | null
  readonly timeoutMs: number
  readonly leaseMs: number
  /** Over how long the hints of a sweep are spread. */
  readonly sweepJitterMs: number
}
