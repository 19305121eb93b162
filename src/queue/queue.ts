// The view: a disposable set of hints. Push side and pop side are apart; a push-only queue needs only the first.
import type { Mark } from '../job/canary-mark.ts'
import type { UnusableKeys } from '../job/key.ts'
import type { SqlQuery } from '../job/pending.ts'
import type { Hint, PoppedHint, Pushed } from './hint.ts'

export type { Mark } from '../job/canary-mark.ts'

export interface PushQueue {
  /** Adds hints, each (job, key) at most once per call. A fresh one makes an existing hint sooner, others leave it alone. */
  push(hints: readonly Hint[], options?: PushOptions): Promise<Pushed>
}

export interface PushOptions {
  /** The part of its bounds that the queue may fill, 0 to 1: less for a while after it ran out of memory. Defaults to 1. */
  readonly share?: number
  /**
   * The epoch that the queue has to be of for swept hints: into another one, or one without a mark, only fresh ones go.
   * Defaults to any.
   */
  readonly epoch?: number | null
}

/** Code of the `RegrowError` with which a queue refuses a push for want of memory: it is no outage, and less would fit. */
export const outOfMemory = 'queue_memory'

/** Code of the `RegrowError` with which a queue refuses a push for what one of its hints is: the others would fit. */
export const badHint = 'queue_hint'

export interface PopRequest {
  /**
   * Jobs whose handler the popper has, each with the number of keys it has room for. They may be served in this order:
   * who pops again and again names another one first each time.
   */
  readonly jobs: readonly PopJob[]
  /** Hints at most, over all jobs. */
  readonly limit: number
  /** How long to wait for the first hint; 0 answers at once. */
  readonly waitMs: number
}

export interface PopJob {
  readonly job: string
  readonly limit: number
  /** The popper can take a hint out by itself, right before its take: see `Popped.removal`. Defaults to false. */
  readonly named?: boolean
}

export interface PopQueue {
  /** Removes and returns due hints, fresh ones first; empty when nothing came due in time or `signal` aborted. */
  pop(request: PopRequest, signal?: AbortSignal): Promise<Popped>
}

export interface Popped {
  readonly hints: readonly PoppedHint[]
  /**
   * The canary as it was at this pop; null when there is none: the queue is new or was lost. Undefined when the hints did not come
   * out of it: a push of the same process handed them over.
   */
  readonly mark: Mark | null | undefined
  /**
   * The one hint is still in the queue, and this statement takes it out: `popped` of its row tells whether it was there. It saves a
   * round trip where queue and ledger share a database. Only for jobs that ask for it (`named`).
   */
  readonly removal?: SqlQuery
}

/** A page that a queue reads by itself, since it lives in the same database as the rows. */
export interface FillRequest {
  readonly job: string
  /** A query of (place, key, version, since, at, renewed, wait_ms, eligible), as a source makes it: see `Source.pageQuery`. */
  readonly page: SqlQuery
  /** Rows of that page at most. */
  readonly limit: number
  readonly timeoutMs: number
  readonly epoch?: number | null
}

/** What a queue found in a page, and did with it. */
export interface Filled {
  readonly scanned: number
  /** Key of the last row of a page that has as many as it may have; of a shorter one, behind which nothing is, null. */
  readonly last: string | null
  readonly oldestMs: number | null
  /** Rows that may be hinted, those in `rows` among them. */
  readonly eligible: number
  /** Rows whose text cannot be a key. Undefined: there are none. */
  readonly unusable?: UnusableKeys | undefined
  /** Rows that are not simply pending now: they were not pushed. */
  readonly rows: readonly {
    readonly key: string
    readonly version: string | null
    readonly waitMs: number
    readonly renewed: boolean
  }[]
  /** A few keys of the others, from all over. */
  readonly sample: readonly string[]
  /** What became of the others. */
  readonly pushed: Pushed
}

export interface HintCount {
  readonly due: number
  readonly delayed: number
}

/** One hint that is in the queue. */
export interface PeekedHint {
  /** 0: it is due. */
  readonly dueInMs: number
  readonly fresh: boolean
}

/** What a queue tells of itself and its server, for `doctor`. What it does not know is left out. */
export interface QueueFacts {
  /** The server, by name and version, and the oldest version that this queue works on. */
  readonly server?: { readonly name: string; readonly version: string; readonly least: string }
  /** Memory of the server in bytes; `most` null: no limit. */
  readonly memory?: { readonly used: number; readonly most: number | null }
  /** What the server does when its memory is full; `none`: it refuses what is new and keeps what it has. */
  readonly eviction?: string
  /** What the hints take on disk, and how many there are; counted up to a limit. */
  readonly size?: { readonly bytes: number; readonly hints: number }
  /** False: idle workers are not told of a push and have to look. */
  readonly wakes?: boolean
  /** What could not be asked, and why. */
  readonly refused?: string
}

/** Parts of a queue that held what nobody but somebody else writes there, and were deleted. */
export interface QueueRepair {
  /** By the names that its server gives them. */
  readonly keys: readonly string[]
  /** Jobs that lost hints by it. */
  readonly jobs: readonly string[]
}

export interface Queue extends PushQueue, PopQueue {
  readonly name: string
  /** False when each process has a queue of its own (memory). */
  readonly shared: boolean
  /**
   * False: its hints and mark are there, or gone, but never those of an earlier moment. Then the mark that a pop brings shows whether
   * they were lost, and it need not be changed each second. Defaults to true.
   */
  readonly rollsBack?: boolean | undefined
  /** Pushes swept hints for a page of the store's rows, read by the queue itself. Missing where it cannot reach them. */
  readonly pushFrom?: ((request: FillRequest) => Promise<Filled>) | undefined
  /** Puts a mark there, whatever was there before. */
  writeMark(mark: Mark): Promise<void>
  /**
   * Returns the mark it finds; null: there is none, and none is made (M41). One of the epoch of `known`, and not behind it, is
   * raised past `known` in the same step; any other is left as it is: it is a sign.
   */
  moveMark(known: Mark): Promise<Mark | null>
  /** Hints of these jobs, by job. */
  count(jobs: readonly string[]): Promise<ReadonlyMap<string, HintCount>>
  /** Hints of these keys, 1,000 at most, by key; takes nothing away. Missing where a queue cannot look for single hints. */
  readonly peek?: ((job: string, keys: readonly string[]) => Promise<ReadonlyMap<string, PeekedHint>>) | undefined
  /** What is to be known of its server; it changes nothing. Missing where there is nothing to know. */
  readonly examine?: (() => Promise<QueueFacts>) | undefined
  /** Takes all hints of one job out, due or not; returns how many there were. Missing where a queue cannot do that. */
  readonly forget?: ((job: string) => Promise<number>) | undefined
  /** Throws everything away, the mark included; returns how many hints were lost. */
  wipe(): Promise<number>
  close(): Promise<void>
}
