// What a pass is told, and what it finds page by page.
import { type UnusableKeys, unusableReason } from '../job/key.ts'
import type { PageRow } from '../store/source.ts'

export interface PassStart {
  /** Where to go on; null: from the beginning. */
  readonly cursor: string | null
  /** The job is paused: rows are counted, nothing is hinted. */
  readonly paused: boolean
  /** Since everything came back at once; null: it did not. */
  readonly rampedMs: number | null
  /**
   * Pages that are no larger than a push: the first one where the queue may be full still, or where everybody waits for the
   * first hints; all of them where a large one would keep the workers from their only connection.
   */
  readonly brief: 'none' | 'first' | 'all'
  /** Of the queue that it fills; null: whichever there is. */
  readonly epoch: number | null
}

export interface PassResult {
  readonly seen: number
  readonly pushed: number
  readonly held: number
  /** Rows before the cursor whose text cannot be a key; null: there were none. */
  readonly unusable: UnusableKeys | null
  /** Hints that the queue had no room for, of those that were tried. */
  readonly dropped: number
  /** Of the rows seen those before the cursor: the others are seen again by the turn that goes on. */
  readonly passed: number
  /** Where to go on; null: the pass reached the end. */
  readonly cursor: string | null
  /** The longest that an eligible row waits, where rows tell. */
  readonly oldestMs: number | null
  /** Eligible rows of the first page. */
  readonly rows: readonly PageRow[]
  /**
   * `full`: the queue took no more; `failed`: it failed, and nothing was pushed; `budget`: time was over; `lost`: the turn was, or the
   * queue; `stopped`: the worker stops.
   */
  readonly ended: 'finished' | 'full' | 'failed' | 'budget' | 'lost' | 'stopped'
  /** How the queue failed, where it did. */
  readonly error?: unknown
}

/** One page, read and pushed. */
export interface Step extends Omit<PassResult, 'ended'> {
  /** Why the pass goes no further; null: it does. */
  readonly ended: PassResult['ended'] | null
}

export const pageRows = 10_000
export const pushRows = 1_000
export const pageTimeoutMs = 10_000

/** What an event tells of rows that cannot run. */
export const unusableTold = (unusable: UnusableKeys | null) => ({
  unusable: unusable?.count ?? 0,
  unusableReason: unusable && unusableReason(unusable),
})
