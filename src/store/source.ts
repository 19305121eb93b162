// The inner face of a job's truth: what work is there, and is this key pending right now?

/** A row that a sweep may hint: eligible now, or in `waitMs`. */
export interface PageRow {
  readonly key: string
  readonly waitMs: number
}

export interface Page {
  /** Rows read; a page is bounded by these, not by what was eligible (M37). */
  readonly scanned: number
  /** Key of the last row read; null when nothing was. */
  readonly last: string | null
  readonly rows: readonly PageRow[]
}

export interface Source {
  /** The next page after `after`; keys that cannot start within `horizonMs` are left out. */
  page(after: string | null, limit: number, horizonMs: number): Promise<Page>
  /** Which of these keys are pending, in a snapshot begun now. */
  check(keys: readonly string[]): Promise<{ readonly pending: ReadonlySet<string> }>
}
