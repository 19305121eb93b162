// What is told of a covered column: its values, who claims each, and the rows that nobody would find.
import type { StateColumn, StateValues } from '../../store/coverage.ts'

/** Rows by count and some of their keys. */
export interface RowSample {
  /** At most 1,000; `more`: there are more than these. */
  readonly count: number
  readonly more: boolean
  /** Keys as `regrow why` takes them, five at most. */
  readonly keys: readonly string[]
}

/** How it is known that a job claims a value. */
export type ClaimProof =
  /** Its query returns rows that have it. */
  | 'rows'
  /** It returns a present or a new row, if that has the value. */
  | 'trial'
  /** Nothing says that it does not. */
  | 'unknown'

/** One value of a state column. */
export interface CoveredValue {
  /** As Postgres writes it; null: rows without a state. */
  readonly value: string | null
  readonly terminal: boolean
  /** Jobs that may claim it; of all others it is proven that they do not. */
  readonly claims: readonly {
    readonly job: string
    readonly proof: ClaimProof
    readonly clock: boolean
    /** Other tables that its query reads: a row may wait for a row there. */
    readonly others: readonly string[]
  }[]
  /** For what its rows wait, where a job says so in `waits`; null: nothing is said. */
  readonly waits: string | null
  /** Jobs with a key of another table whose queries ask for rows with this value, in a join or a subquery. */
  readonly asked: readonly string[]
  /** Rows that have it and that no pending query returns; null: terminal, or it cannot be told. */
  readonly unclaimed: RowSample | null
}

/** One state column of one table. */
export interface CoveredColumn {
  /** `schema.table`. */
  readonly table: string
  readonly column: string
  /** `databases.state`: how findings name it. */
  readonly shown: string
  /** Jobs that cover it, with the values that each calls terminal; null: it leaves that to the others. */
  readonly jobs: readonly { readonly job: string; readonly terminal: readonly (string | null)[] | null }[]
  /** Where the values are from: the type, a CHECK constraint, or rows. */
  readonly from: StateValues['from']
  /** Why there may be more values; null: there are not. */
  readonly bounded: string | null
  readonly values: readonly CoveredValue[]
  /** Terminal values that the column has not, and values of `waits` that it has not. */
  readonly strangers: readonly string[]
  readonly waitStrangers: readonly string[]
  /** Jobs that work on another table, by `schema.table`: they may bring what rows of this one wait for. */
  readonly workers: Readonly<Record<string, readonly string[]>>
  /** Pairs of jobs whose queries return the same rows. */
  readonly shared: readonly {
    readonly jobs: readonly [string, string]
    readonly rows: RowSample
    /** Both cover the column. */
    readonly declared: boolean
    /** There are no such rows: one that was tried with this value would be. Missing where rows were found. */
    readonly tried?: { readonly value: string | null }
  }[]
}

/** A column as people call it. */
export const shownColumn = ({ schema, table, column }: Pick<StateColumn, 'schema' | 'table' | 'column'>): string =>
  `${schema === 'public' ? '' : `${schema}.`}${table}.${column}`

/** A value as it is written in SQL. */
export const shownValue = (value: string | null): string =>
  value === null ? 'null' : `'${value.replaceAll("'", "''")}'`
