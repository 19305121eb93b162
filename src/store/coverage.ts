// What the coverage contract asks of the database, where the store can prove such things: the values that a state column can have, and which job's pending query
// claims a value. Reads only: what a row without a row would do is tried on rows that exist in the statement alone.
import type { Job } from '../job/job.ts'

/** A table and its state column as the catalog knows them. */
export interface StateColumn {
  readonly schema: string
  readonly table: string
  readonly column: string
  /** Columns of the primary key; empty: it has none. */
  readonly key: readonly string[]
  /** Name of the column's type, to cast to, and of what it is made of. */
  readonly type: string
  readonly base: string
  readonly nullable: boolean
  readonly labels: readonly string[] | null
  /** Conditions of CHECK constraints that name this column alone; `name` is what they call it. */
  readonly checks: readonly { readonly name: string; readonly condition: string }[]
  /** All columns, in their order. */
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    /** Its default, where that can be evaluated without an effect. */
    readonly standard: string | null
    /** It is never null. */
    readonly required: boolean
    /** Its type is an enum. */
    readonly listed: boolean
  }[]
  /** The table and all that inherits from it, by schema and name: plans name partitions. */
  readonly family: readonly (readonly [schema: string, name: string])[]
  /** An index begins with the column. */
  readonly indexed: boolean
}

/** Values of a state column, as text; null: rows without one. */
export interface StateValues {
  readonly from: 'enum' | 'boolean' | 'check' | 'rows'
  readonly values: readonly (string | null)[]
  /** Why there may be more values than these; null: there are not. */
  readonly bounded: string | null
}

/** How a job's pending query stands to a table. */
export interface StateReader {
  readonly job: Job
  /** Its plan reads the table. */
  readonly reads: boolean
  /** Without rows in the table the query returns nothing, and that is proven: what it returns comes from there. */
  readonly driven: boolean
  /** The columns of the table that are the job's key, in its order; null: it cannot be told. */
  readonly key: readonly string[] | null
  /** Other tables that the query reads, `schema.table`, without regrow's own. */
  readonly others: readonly string[]
  /** Names of the query's key columns, quoted. */
  readonly keyNames: readonly string[]
  /** The query asks for the time: a row that it does not return now, it may return later. */
  readonly clock: boolean
}

/** Some rows of the table, by the texts of their key columns. */
export interface StateRows {
  readonly keys: readonly (readonly string[])[]
  /** There are more than these. */
  readonly more: boolean
}

/** Rows of a table as they might be, to try queries on: column and value. They are never written. */
export type TrialRow = Readonly<Record<string, unknown>>

export interface Coverage {
  /** The table and column by name; what is missing in a word. */
  column(table: string, column: string): Promise<StateColumn | 'no_table' | 'no_column'>
  values(column: StateColumn): Promise<StateValues>
  /** `key`: the table's columns that the job's key is, where somebody said so. */
  reader(column: StateColumn, job: Job, key: readonly string[] | null): Promise<StateReader>
  /** `never` is proven: whatever the other columns hold, the query returns no row that has this value. */
  mayClaim(column: StateColumn, reader: StateReader, value: string | null): Promise<'never' | 'maybe'>
  /** True: the query returns rows of the table with this value, now. */
  claims(column: StateColumn, reader: StateReader, value: string | null): Promise<boolean>
  /**
   * Of one reader: true if its query would return a present row, a new one, or one of `rows`, if that had this value. Of two: true if
   * both would return the same new row, or one of `rows`. False proves nothing.
   */
  wouldClaim(
    column: StateColumn,
    readers: readonly StateReader[],
    value: string | null,
    rows: readonly TrialRow[],
  ): Promise<boolean>
  /** Rows with this value that none of the readers' queries returns; `key`: the columns that name them. */
  unclaimed(
    column: StateColumn,
    readers: readonly StateReader[],
    value: string | null,
    key: readonly string[],
    limit: number,
  ): Promise<StateRows>
  /** Rows that both queries return. */
  shared(
    column: StateColumn,
    readers: readonly [StateReader, StateReader],
    key: readonly string[],
    limit: number,
  ): Promise<StateRows>
}
