// The inner face of a job's truth. `pending`, `input` and `schedule` are three ways to make one; worker and
// sweep know no other kind.
import type { UnusableKeys } from '../job/key.ts'
import type { ServerPage } from '../job/server-page.ts'
import type { Finish } from './ledger.ts'

/** A row that a sweep may hint: eligible now or before the next sweep. */
export interface PageRow {
  readonly key: string
  readonly version: string | null
  readonly waitMs: number
  /** The ledger remembers failures of another version: clear them, this is new work. */
  readonly renewed: boolean
}

export interface Page {
  /** Rows read; a page is bounded by these, not by what was eligible (M37). */
  readonly scanned: number
  /** Key of the last row read; null when nothing was. */
  readonly last: string | null
  /** The longest that an eligible row of it waits, where rows tell since when; null: none, or they do not tell. */
  readonly oldestMs: number | null
  readonly rows: readonly PageRow[]
  /** Only where the query failed for one of the rows: whether there are rows behind `last`. Undefined: there are, behind as many as were asked for. */
  readonly more?: boolean | undefined
  /** Rows read whose text cannot be a key, or for which the query fails: they are never hinted. Undefined: there are none. */
  readonly unusable?: UnusableRows | undefined
}

export interface UnusableRows extends UnusableKeys {
  /** Of each of them, how many of `rows` come before it. */
  readonly before: readonly number[]
}

/** True: no rows are behind this page, for which `limit` were asked. */
export const isLastPage = ({ scanned, last, more }: Page, limit: number): boolean =>
  last === null || (more === undefined ? scanned < limit : !more)

/** A key that is pending right now. */
export interface PendingKey {
  readonly key: string
  readonly version: string | null
  /** Above zero: `run_at` lies so far in the future, and the key is not pending yet. */
  readonly waitMs: number
  /** The stored input of an intent, as JSON text. */
  readonly input: string | null
  /** An intent with a unique key that it gives up when it starts. Defaults to false. */
  readonly unique?: boolean
}

export interface Checked {
  readonly paused: boolean
  readonly pending: ReadonlyMap<string, PendingKey>
  /** Keys whose check fails by themselves (a cast, a division by zero), each with its error. */
  readonly broken?: ReadonlyMap<string, unknown>
}

/** Pages that stay inside the database server, for a queue that lives in the same one. */
export interface ServerPages {
  /** The next page after `after`, described. */
  page(after: string | null, limit: number, horizonMs: number): Promise<ServerPage>
  /** Key of the row that ends the page of `limit` rows after `after`; null: there are fewer rows. */
  end(after: string | null, limit: number, timeoutMs: number): Promise<string | null>
  /** The last of all keys; null: nothing is pending. */
  lastKey(timeoutMs: number): Promise<string | null>
}

export interface Source {
  /** True when the pending query has a `version` column. Known after the first call of another method. */
  readonly versioned: boolean
  /** True when rows tell since when they wait: by `run_at`, or as intents. Known like `versioned`. */
  readonly dated: boolean
  /** True: a claim of its keys can redeem receipts of the queue that the store opens itself. Defaults to false. */
  readonly redeems?: boolean | undefined
  /** Which of regrow's own rows a success ends; null: the rows are the user's. */
  readonly finishes: Finish | null
  /** The next page after `after`; keys that cannot start within `horizonMs` are left out. */
  page(after: string | null, limit: number, horizonMs: number, timeoutMs: number): Promise<Page>
  /** Missing where only the source itself can read its rows. */
  readonly serverPages?: ServerPages | undefined
  /**
   * Keys behind `after` in their order, read without the conditions of the pending query: all that it returns, and others. Null, or
   * missing: they cannot be told, and a row for which the query fails stops the rows behind it.
   */
  candidates?(after: string | null, limit: number, timeoutMs: number): Promise<readonly string[] | null>
  /** Which of these keys are pending, and whether the job is paused, in a snapshot begun now. */
  check(keys: readonly string[]): Promise<Checked>
  /** Pending rows at a guess, without reading them; null: nobody can tell. */
  estimate(timeoutMs: number): Promise<number | null>
}
