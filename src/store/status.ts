// What a person asks of regrow's own tables: how each job stands, who works, and what is known of one key. Reads nothing of
// the user's, and changes nothing.
import type { Difference } from '../job/canary-mark.ts'
import type { UnusableKeys } from '../job/key.ts'

/** The last sweep of a job, as its row tells it. */
export interface SweepRow {
  readonly nextAt: Date
  /** Somebody is making a pass right now. */
  readonly sweeping: boolean
  readonly lastAttemptAt: Date | null
  readonly lastSuccessAt: Date | null
  readonly lastError: string | null
  /** Rows read, hints that were new, and keys that could not start, in the last pass. */
  readonly seen: number
  readonly pushed: number
  readonly held: number
  readonly tookMs: number
  /** Hints that the queue had no room for, in the last turn. */
  readonly dropped: number
  /** Pending rows whose text cannot be a key, so that they never run; null: none. */
  readonly unusable: UnusableKeys | null
  /** The interval that its declaration asks for; null: an older schema does not know. */
  readonly everyMs: number | null
  /** Turns that failed in a row. */
  readonly errors: number
  /** Pending rows; null: no pass has counted them yet. */
  readonly pending: PendingCount | null
  /** Since when the row that waits longest is known to wait, as the last turn saw it; null: nothing waited. */
  readonly oldestAt: Date | null
  /** The queue was lost, and the pass that brings this job's hints back is not over. */
  readonly healing: boolean
}

/** How much is pending, when somebody last knew. */
export interface PendingCount {
  readonly count: number
  /** By the planner: passes do not reach the end of the rows. Otherwise the last whole pass counted them. */
  readonly estimated: boolean
  readonly at: Date
}

/** A pause that holds now. */
export interface PauseRow {
  readonly job: string
  readonly reason: string
  readonly author: string
  readonly since: Date
  /** Null: until somebody resumes it. */
  readonly until: Date | null
  /** Rows that were pending when it began; null: no pass has counted them since. */
  readonly backlog: number | null
}

/** One job as regrow's tables show it. */
export interface JobRow {
  readonly job: string
  readonly running: number
  /** Failed or given back, and waiting for another try. */
  readonly retrying: number
  readonly quarantined: number
  /** Intents that are stored: waiting, running or quarantined. */
  readonly intents: number
  /** Live workers that have its handler. */
  readonly workers: number
  /** When a drain of it ended last; null: never. */
  readonly drainedAt: Date | null
  /**
   * Runs that ended well while their row stayed pending: keys that failed of it, and without a `version` column runs in
   * the present pass or the one before.
   */
  readonly noProgress: number
  /** Claims whose worker is gone or silent for longer than the lease, and since when the first of them is. */
  readonly unowned: { readonly count: number; readonly since: Date } | null
  /** Null: no worker has ever declared it. */
  readonly sweep: SweepRow | null
  readonly pause: PauseRow | null
}

/** One worker that has not left. */
export interface WorkerRow {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly jobs: readonly string[]
  readonly startedAt: Date
  readonly beatAt: Date
  /** False: silent for longer than its lease; it is about to be declared dead. */
  readonly live: boolean
  /** Null: a worker of older code, which does not tell. */
  readonly leaseMs: number | null
  readonly running: number
  /** Slots that handlers keep which did not end 30 s after their timeout; at half of them it asks to be recycled. */
  readonly stuck: number
}

/** One loss of the queue, and how it grew back. */
export interface HealRow {
  readonly queue: string
  readonly epoch: number
  /** When it was noticed. */
  readonly at: Date
  /** The queue's mark was missing, of another epoch, or older than what the store knew. */
  readonly how: Difference
  /** Host and process. */
  readonly noticedBy: string
  /** Hints that were brought back so far. */
  readonly pushed: number
  /** Jobs whose first pass since is not over; nobody makes it while no worker has their handler. */
  readonly jobsLeft: number
  /** Null: it is not over. */
  readonly endedAt: Date | null
}

/** A queue that workers of this store use, or used. */
export interface QueueRow {
  readonly name: string
  /** When a worker last looked at its mark: twice a second while it answers. */
  readonly lookedAt: Date
}

/** What beats have left behind, of all workers together. */
export interface PulseFacts {
  /** Its row is gone: nobody is declared dead, and no schedule is audited. */
  readonly missing: boolean
  /** The database's clock was set back, as the last beat that noticed tells it; null: never, as far as is known. */
  readonly setBack: { readonly at: Date; readonly byMs: number } | null
}

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

/** What a live worker declares. */
export interface DeclarationRow {
  readonly host: string
  readonly pid: number
  readonly startedAt: Date
  /** A hash of its declaration by job. */
  readonly jobs: Readonly<Record<string, string>>
}

export interface StoreStatus {
  /** Every job that one of the tables names, the pulse, and the store's time. */
  jobs(leaseMs: number): Promise<{ at: Date; jobs: JobRow[]; pulse: PulseFacts }>
  workers(leaseMs: number): Promise<WorkerRow[]>
  /** Queues that the store has a mark of, the one that was looked at last first; one in memory has none. */
  queues(): Promise<QueueRow[]>
  /** The last losses of a queue, newest first; none on a schema that does not remember them. */
  heals(limit: number): Promise<HealRow[]>
  /** Names of the jobs that have a sweep, a pause or a worker; `job` too when it has intents or quarantined keys. */
  names(job: string): Promise<string[]>
  /** What is known of a key; one that is not known at all has facts, too: those of its job. */
  key(job: string, key: string, leaseMs: number): Promise<KeyFacts>
  /** What each worker declares that beat within the lease. */
  declarations(leaseMs: number): Promise<DeclarationRow[]>
  /** The store's time now, in epoch ms. */
  time(): Promise<number>
}
