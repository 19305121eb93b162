// What a person asks of regrow's own tables: how each job stands, who works, and what waits in quarantine.
// Reads nothing of the user's; what a person changes is written to the audit in the same statement.
import type { Difference } from '../job/canary-mark.ts'
import type { UnusableKeys } from '../job/key.ts'
import type { QuarantineWhere } from './census.ts'

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

/** A key that failed for good. */
export interface QuarantinedKey {
  readonly job: string
  readonly key: string
  readonly version: string | null
  readonly failures: number
  readonly crashes: number
  /** Why, without secrets; in a list its first 300 characters. */
  readonly error: string | null
  readonly since: Date
}

/** A quarantined key with all that is known of it. */
export interface QuarantinedDetail extends QuarantinedKey {
  /** Its intent; null when the work is a row of the user's. */
  readonly intent: {
    /** JSON text, as it was stored. */
    readonly input: string
    readonly createdAt: Date
    readonly runAt: Date | null
    readonly uniqueKey: string | null
  } | null
}

/** What became of one key that somebody wanted to drop. `row`: it has no intent, its work is a row of the user's. */
export type DropVerdict = 'dropped' | 'row' | 'not quarantined' | 'kept'

/** What beats have left behind, of all workers together. */
export interface PulseFacts {
  /** Its row is gone: nobody is declared dead, and no schedule is audited. */
  readonly missing: boolean
  /** The database's clock was set back, as the last beat that noticed tells it; null: never, as far as is known. */
  readonly setBack: { readonly at: Date; readonly byMs: number } | null
}

export interface Inspector {
  /** Every job that one of the tables names, the pulse, and the store's time. */
  jobs(leaseMs: number): Promise<{ at: Date; jobs: JobRow[]; pulse: PulseFacts }>
  workers(leaseMs: number): Promise<WorkerRow[]>
  /** Queues that the store has a mark of, the one that was looked at last first; one in memory has none. */
  queues(): Promise<QueueRow[]>
  /** The last losses of a queue, newest first; none on a schema that does not remember them. */
  heals(limit: number): Promise<HealRow[]>
  /** Names of the jobs that have a sweep, a pause or a worker; `job` too when it has intents or quarantined keys. */
  names(job: string): Promise<string[]>
  /** The next `limit` quarantined keys after `after`, by job and key; `where` defaults to all. */
  quarantined(
    job: string | null,
    after: { job: string; key: string } | null,
    limit: number,
    where?: QuarantineWhere,
  ): Promise<QuarantinedKey[]>
  find(job: string, key: string): Promise<QuarantinedDetail | null>
  /** Forgets that these keys failed: they are new. Returns those that were quarantined. */
  release(job: string, keys: readonly string[], author: string): Promise<string[]>
  /** Deletes intents and what the ledger knows of them; nothing at all when one of the keys has no intent. */
  drop(job: string, keys: readonly string[], author: string): Promise<{ key: string; verdict: DropVerdict }[]>
}
