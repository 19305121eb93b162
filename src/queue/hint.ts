// What the queue holds: identity, never facts. Whatever is lost, late or doubled here, the run re-reads the truth.

/** A hint that was popped, and is no longer in the queue. */
export interface PoppedHint {
  readonly job: string
  readonly key: string
  /** Pushed by an enqueue on somebody's path: popped first, and it makes an existing hint sooner. */
  readonly fresh: boolean
}

/** One entry of the queue. There is one per (job, key): the hint is its own uniqueness lock. */
export interface Hint extends PoppedHint {
  /** Not before so many milliseconds from now; the queue adds it to its own clock. */
  readonly delayMs: number
}

/** What became of pushed hints. */
export interface Pushed {
  readonly added: number
  /** There was a hint of that key already. */
  readonly merged: number
  /** The queue did not take it; the work is not lost, its row is still there. */
  readonly dropped: number
}
