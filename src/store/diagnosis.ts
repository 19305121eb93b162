// What a store can say about its server and about the queries of the user's jobs. Optional: doctor, why and the dry run say what
// they cannot know without it. Everything here reads; what is wrong is decided by the caller.
import type { Job } from '../job/job.ts'

/** How a process reaches its database, for `doctor`. */
export interface ConnectionFacts {
  /** What regrow was given. With an address it makes pools of its own, as large as they have to be. */
  readonly from: 'address' | 'pool' | 'client'
  /** Connections of this process at most. */
  readonly most: number
  /** A pooler stands between: sessions are not the client's own. */
  readonly pooler: boolean
}

/** The database and how this process reaches it. */
export interface StoreFacts {
  readonly user: string
  /** 150004: version 15.4. */
  readonly serverVersion: number
  readonly replica: boolean
  readonly readOnly: boolean
  /**
   * Version of regrow's schema: found (0: there is none; `hidden`: this user may not read it; `unknown`: it is no version), what this
   * code brings it to, and the oldest it works on.
   */
  readonly schema: { readonly found: number | 'hidden' | 'unknown'; readonly newest: number; readonly oldest: number }
  /** Connections of clients that are open now, and how many the server allows. */
  readonly sessions: { readonly open: number; readonly most: number }
  /** Rights on regrow's tables that this user lacks and a worker needs, as `insert on ledger`. */
  readonly rightsMissing: readonly string[]
  /** Null: there is one connection, and nothing to say of it. */
  readonly connections: ConnectionFacts | null
}

export interface TableName {
  readonly schema: string
  readonly name: string
}

/** What one statement of a job costs. */
export interface StatementCost {
  /** Rows that it returned, or would at a guess. */
  readonly rows: number
  /** Rows of your tables that it read for them. */
  readonly rowsRead: number
  /** Blocks of 8 KiB that it touched; null: not measured. */
  readonly blocks: number | null
  /** How long it took; null: the planner's figures, since it would have taken too long. */
  readonly ms: number | null
}

/** An index that would spare reading. */
export interface IndexSuggestion {
  readonly statement: string
  readonly table: string
  /** Rows and blocks that the scan reads of that table now; blocks null: not measured. */
  readonly now: { readonly rows: number; readonly blocks: number | null }
  /** And with the index, at most so many blocks; null: nobody can tell. */
  readonly after: { readonly rows: number; readonly blocks: number } | null
}

/** What the doctor measured of one job. */
export interface JobCosts {
  readonly job: string
  /** The first page of a pass; null: the rows are not read by a query of yours. */
  readonly page: StatementCost | null
  /** The one after; null: there is none. */
  readonly nextPage: StatementCost | null
  /** The one that ends a pass, and finds nothing any more; null: that is the first one. */
  readonly lastPage: StatementCost | null
  /** The check of up to a hundred keys. */
  readonly check: StatementCost | null
  readonly indexes: readonly IndexSuggestion[]
}

/** What to do about it. */
export interface IndexAdvice {
  readonly table: TableName
  /** Null: there is no index to be named; `existing` may say why. */
  readonly statement: string | null
  /** What the statement would read with it, at most so many blocks of 8 KiB; null: nobody can tell. */
  readonly after: { readonly rows: number; readonly blocks: number } | null
  /** Conditions that the index cannot hold. */
  readonly leftOut: readonly string[]
  /** It is there already: never finished, then `statement` finishes it, or not used. */
  readonly existing: { readonly name: string; readonly valid: boolean } | null
  /** The columns have an index, and there is no condition that one could hold: how to read is the planner's choice. */
  readonly planners: boolean
}

/** Which statement of a job reads far more of a table than it returns. */
export interface TooMuch {
  readonly part: 'page' | 'next_page' | 'last_page' | 'check'
  /** Rows and blocks of 8 KiB that it reads of the table; blocks null: not measured. */
  readonly read: { readonly rows: number; readonly blocks: number | null }
  readonly cost: StatementCost
  /** It was given up after the time limit. */
  readonly gaveUp: boolean
  readonly advice: IndexAdvice
}

/** What the statements of one job cost, and what is too much of it. */
export interface QueryCost {
  readonly costs: JobCosts
  readonly tooMuch: readonly TooMuch[]
  /** Statements that were given up, and of which no scan could be blamed. */
  readonly slow: readonly TooMuch['part'][]
  /** Tables that the query reads; `rows` at a guess, `analyzed`: the planner has statistics of it. */
  readonly tables: readonly (TableName & { readonly rows: number; readonly analyzed: boolean })[]
}

/** Reading fewer rows than this takes a few milliseconds: no index is worth its upkeep for less. */
export const smallRows = 10_000
/** Of a table that is only joined: below this the planner may well read all of it and be right. */
export const manyRows = 100_000
/** Half of what a sweep's page may take: a statement that takes longer is given up. */
export const patienceMs = 5_000

/** Why rows of a page may not be hinted, counted by the first reason that holds. */
export interface HeldCounts {
  readonly running: number
  readonly quarantined: number
  /** They failed, and wait for longer than the horizon. */
  readonly backedOff: number
  /** `run_at` lies beyond the horizon. */
  readonly later: number
}

/** One condition of the query that the row does not meet. */
export interface UnmetCondition {
  /** As Postgres writes it, without the table's name: `state = 'pending'`. */
  readonly condition: string
  /** What the columns in it hold, as text of at most 80 characters; null: NULL. */
  readonly found: Readonly<Record<string, string | null>>
  /** It does not look at the row, as `exists (select … from switches)` does not: it fails for every row of the query. */
  readonly everyRow?: true
}

/** Why the pending query does not return a key. */
export type Unmet =
  /** The table has no row of this key. */
  | { readonly kind: 'no_row'; readonly table: string }
  /**
   * These conditions fail; none: it meets them all by now, the row has changed meanwhile. Without a table: they do not look at the row, and
   * nothing else is known.
   */
  | { readonly kind: 'conditions'; readonly table: string | null; readonly conditions: readonly UnmetCondition[] }
  /** The store has no diagnosis. */
  | { readonly kind: 'unknown' }
  /** The query is not simple enough to tell; `why` says what is in the way. */
  | { readonly kind: 'untold'; readonly why: string }

export interface Diagnosis {
  /** Works on every schema, and where there is none; on a replica, too. */
  facts(): Promise<StoreFacts>
  /** What page and check of the job's pending query cost: each is executed once under a time limit. Null: no query reads its rows. */
  cost(job: Job): Promise<QueryCost | null>
  /** Why rows of the page after `after` are left out. Null: no query reads them. */
  held(job: Job, after: string | null, limit: number, horizonMs: number, timeoutMs: number): Promise<HeldCounts | null>
  /** Why this key is not pending, as far as the query tells. Null: the job has no query of the user's. */
  unmet(job: Job, key: string): Promise<Unmet | null>
}
