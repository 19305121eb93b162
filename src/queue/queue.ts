// The view: a disposable set of hints. Push side and pop side are apart; a push-only queue needs only the first.
import type { Mark } from '../job/canary-mark.ts'
import type { UnusableKeys } from '../job/key.ts'
import type { Receipt } from '../job/receipt.ts'
import type { ServerPage } from '../job/server-page.ts'
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
  /** The caller accepts a hint that is still in the queue, with a receipt for it: see `Popped.receipt`. Defaults to false. */
  readonly receipts?: boolean
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
   * The one hint is still in the queue: the claim of its key removes it by this receipt. Only for jobs that accept receipts, and
   * only from a queue whose receipts the store can redeem.
   */
  readonly receipt?: Receipt | undefined
}

/** Pushes hints for pages of rows that live in the same database server as the queue. */
export interface PageFiller {
  /** Pushes swept hints for the eligible rows of a page, which the queue reads itself. */
  fill(request: FillRequest): Promise<FillResult>
}

export interface FillRequest {
  readonly job: string
  /** The page, as the job's source describes it: see `ServerPages`. */
  readonly page: ServerPage
  /** Rows of that page at most. */
  readonly limit: number
  readonly timeoutMs: number
  readonly epoch?: number | null
}

/** What a queue found in a page, and did with it. */
export interface FillResult {
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

/** Looks into the queue without changing it, for people. */
export interface QueueInspection {
  /** Hints of these keys, at most 1,000, by key. */
  peek(job: string, keys: readonly string[]): Promise<ReadonlyMap<string, PeekedHint>>
  facts(): Promise<QueueInfo>
}

/** What a queue knows of itself and its server, for `doctor`. Unknown facts are left out. */
export interface QueueInfo {
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
  /** Missing where the queue cannot read the store's rows. */
  readonly filler?: PageFiller | undefined
  /** Missing where the queue cannot look for single hints. */
  readonly inspection?: QueueInspection | undefined
  /** Puts a mark there, whatever was there before. */
  setMark(mark: Mark): Promise<void>
  /**
   * Returns the mark it finds; null: there is none, and none is made (M41). One of the epoch of `known`, and not behind it, is
   * raised past `known` in the same step; any other is left as it is: it is a sign.
   */
  advanceMark(known: Mark): Promise<Mark | null>
  /** Hints of these jobs, by job. */
  count(jobs: readonly string[]): Promise<ReadonlyMap<string, HintCount>>
  /** Removes all hints of one job, due or not; returns how many there were. Missing where a queue cannot do that. */
  readonly forget?: ((job: string) => Promise<number>) | undefined
  /** Throws everything away, the mark included; returns how many hints were lost. */
  wipe(): Promise<number>
  close(): Promise<void>
}
