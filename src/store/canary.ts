// The store's copy of the canary, one per queue, and the losses that were noticed by it.
import type { Difference, Mark } from '../job/canary-mark.ts'

/** The store's copy, as one process sees it. */
export interface StoredMark {
  readonly mark: Mark
  /** The store has never heard of this queue before. */
  readonly first: boolean
  /** The caller is the one that changes the queue's mark this time. */
  readonly bumps: boolean
  /** The store's clock was set back since the mark was last changed. */
  readonly setBack: boolean
}

/** A loss that somebody is sure of. */
export interface Loss {
  /** The store's mark that the queue's differs from. */
  readonly known: Mark
  readonly found: Mark | null
  readonly how: Difference
  /** Who noticed, for the history. */
  readonly by: string
}

export interface Marks {
  /** Reads the copy; of all who ask, one in `everyMs` is told to bump. Null: the schema has no marks yet. */
  look(queue: string, everyMs: number): Promise<StoredMark | null>
  /** Raises the copy after the queue's mark was changed; it is never lowered (S17). */
  raise(queue: string, mark: Mark): Promise<void>
  /**
   * Declares the queue lost: a new epoch, and every sweep begins a new pass. One winner per epoch, and not before `apartMs`
   * after the last one; null: somebody else was quicker, or it is too soon.
   */
  lose(queue: string, loss: Loss, apartMs: number): Promise<Mark | null>
}
