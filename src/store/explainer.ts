// What the store knows of one key: everything that decides whether it runs, in one look. Why it does not run is decided
// elsewhere; reads nothing of the user's.
import type { PauseRow, SweepRow } from './inspector.ts'

/** What the ledger remembers of a key, and who holds it. */
export interface LedgerFacts {
  readonly state: 'running' | 'retrying' | 'quarantined'
  readonly version: string | null
  readonly failures: number
  readonly crashes: number
  /** It crashed twice or more, and nobody else was found guilty of it: it runs alone. */
  readonly suspect: boolean
  /** It may not start before this instant; null: at once. */
  readonly retryAt: Date | null
  /** The last error, without secrets. */
  readonly error: string | null
  /** Of the last change; of a key that is held and never failed, when it was taken. */
  readonly updatedAt: Date
  /** Null: nobody holds it. */
  readonly claim: ClaimFacts | null
}

/** Who holds a key. */
export interface ClaimFacts {
  /** Null: that worker's row is gone already. */
  readonly worker: {
    readonly host: string
    readonly pid: number
    readonly beatAt: Date
    /** Slots of it that are kept by handlers which did not end. */
    readonly stuck: number
  } | null
  /** It beats: its last beat is younger than the lease. */
  readonly beating: boolean
  /** It runs alone, as a suspect does. */
  readonly alone: boolean
}

/** All that regrow's tables say of one key. */
export interface KeyFacts {
  /** The store's time. */
  readonly at: Date
  readonly ledger: LedgerFacts | null
  /** Its intent; null: it has none. */
  readonly intent: { readonly createdAt: Date; readonly runAt: Date | null } | null
  readonly pause: PauseRow | null
  /** Null: no worker has ever declared the job. */
  readonly sweep: SweepRow | null
  /** Workers that live, and those of them that have the job's handler. */
  readonly workers: { readonly live: number; readonly able: number }
  /** Keys of the job that live workers hold: they run, or are about to. */
  readonly running: number
  /** Another suspect of the job runs alone right now, or is about to. */
  readonly otherSuspect: boolean
  /** Claims of the silent are freed from this instant on at the earliest. */
  readonly graceUntil: Date | null
  /** Runs of the job that ended well while their row stayed pending, in the present pass or the one before. */
  readonly noProgress: number
}

export interface Explainer {
  /** What is known of a key; one that is not known at all has facts, too: those of its job. */
  key(job: string, key: string, leaseMs: number): Promise<KeyFacts>
}
