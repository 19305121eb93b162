// What `doctor` asks of a database: how it is set up, how it would read a pending query, and what its tables are like.
// Everything here reads; what is wrong is decided by who asked.
import type { SqlQuery } from '../job/pending.ts'
import type { ConnectionFacts } from './sql-client.ts'

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

/** A node of a plan, as `explain (format json)` tells it; counts are there when it was measured. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Parent Relationship'?: string
  readonly Alias?: string
  readonly Schema?: string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly Output?: readonly string[]
  readonly Filter?: string
  readonly 'Index Cond'?: string
  readonly 'Recheck Cond'?: string
  readonly 'Hash Cond'?: string
  readonly 'Merge Cond'?: string
  readonly 'Join Filter'?: string
  readonly 'Plan Rows': number
  readonly 'Total Cost': number
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly Plans?: readonly PlanNode[]
}

/** How a statement was or would be executed. */
export interface Explained {
  readonly plan: PlanNode
  /** How long it took; null: it was only planned. */
  readonly ms: number | null
}

export interface TableName {
  readonly schema: string
  readonly name: string
}

export interface TableFacts extends TableName {
  /** The table that an index has to be made on: itself, or what it is a partition of. */
  readonly root: TableName
  /** The root has partitions: an index on it cannot be made concurrently. */
  readonly partitioned: boolean
  /** False: a foreign table, whose indexes are made elsewhere. */
  readonly indexable: boolean
  /** At a guess. */
  readonly rows: number
  /** The planner has statistics of it. */
  readonly analyzed: boolean
  /** Types by column. */
  readonly columns: Readonly<Record<string, string>>
  readonly indexes: readonly IndexFacts[]
}

export interface IndexFacts {
  readonly name: string
  /** Columns and expressions in their order. */
  readonly columns: readonly string[]
  /** Its condition, where it is partial. */
  readonly where: string | null
  /** False: it was never finished, and is not used. */
  readonly valid: boolean
}

/** What a live worker declares. */
export interface DeclarationRow {
  readonly host: string
  readonly pid: number
  readonly startedAt: Date
  /** A hash of its declaration by job. */
  readonly jobs: Readonly<Record<string, string>>
}

export interface Examiner {
  /** Works on every schema, and where there is none; on a replica, too. */
  facts(): Promise<StoreFacts>
  /** The store's time now, in epoch ms. */
  time(): Promise<number>
  /** `analyze` executes it; the server gives up after `timeoutMs`. */
  explain(query: SqlQuery, options: { readonly analyze: boolean; readonly timeoutMs: number }): Promise<Explained>
  /** How many rows of a table have a condition, as the planner guesses. Null: all of them. */
  rowsWhere(table: TableName, condition: string | null): Promise<number>
  /** Facts of tables, those that are there. */
  tables(names: readonly TableName[]): Promise<TableFacts[]>
  /** Workers that beat within the lease. */
  declarations(leaseMs: number): Promise<DeclarationRow[]>
}
