// How far something long has come, told page by page to who waits for it, and the sign to end it early.

/** How far it has come. */
export interface Progress {
  /** What is counted now: a job, or a step. The count begins anew with each. */
  readonly what: string
  readonly done: number
  /** How many there are, at a guess; null: nobody knows. */
  readonly total: number | null
}

/** Options of everything that people wait for. */
export interface ProgressOptions {
  /** Called after each page. Defaults to nobody. */
  onProgress?: (progress: Progress) => void
  /** Ends it at the next page; what was done until then stays done, and is told. Defaults to never. */
  signal?: AbortSignal
}
