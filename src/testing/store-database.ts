// The database of the store suite, beside the store: tables of a user, rows of regrow's own tables, and the clock. In verbs, so that
// a store in any database can be judged by the same cases; what they are in SQL is the subject's business.

/** What a case does to the database beside the store. */
export interface StoreDatabase {
  /** Empties regrow's tables, removes those of `create`, and sets the store's clock to the beginning of 2030. */
  reset(): Promise<void>
  /** Removes regrow's tables, as if they had never been made. */
  dropStore(): Promise<void>
  /** Moves the store's clock by `ms`, forward or back. Between calls it stands still. */
  pass(ms: number): Promise<void>
  /** Makes a table of a user. */
  create(name: string, columns: Readonly<Record<string, Column>>, key?: readonly string[]): Promise<TestTable>
  /** A table that `create` made. */
  table(name: string): TestTable
  /** One of regrow's own tables, by its plain name: `ledger`. */
  own(name: string): TestTable
  /** A pending query over tables that `create` made. */
  pending(query: TestQuery): { readonly text: string; readonly values: readonly unknown[] }
  /** How the store's diagnosis shows a condition that fails. */
  shown(condition: Condition): string
}

export type ColumnType =
  | 'text'
  /** Text in the order of its bytes. */
  | 'text_by_bytes'
  | 'varchar'
  | 'smallint'
  | 'int'
  | 'bigint'
  | 'uuid'
  | 'boolean'
  | 'time'

export type Column = ColumnType | { readonly type: ColumnType; readonly default?: string | number }

/** A value of a row. Numbers that a JavaScript number cannot hold are texts. */
export type Cell =
  | string
  | number
  | boolean
  | null
  /** So many ms after the store's present. */
  | { readonly afterMs: number }
  /** Before or after every instant. */
  | { readonly time: 'always' | 'never' }
  | { readonly json: unknown }

export type TestRow = Readonly<Record<string, Cell>>

export interface TestTable {
  readonly name: string
  /** In the transaction `own` where one is given: what the store hands to a user's function. */
  insert(rows: readonly TestRow[], own?: unknown): Promise<void>
  /** Of the rows that have all values of `where`; without it of all. */
  update(set: TestRow, where?: TestRow): Promise<void>
  remove(where?: TestRow): Promise<void>
  /** Values as JSON has them: instants are texts. */
  rows(where?: TestRow): Promise<Readonly<Record<string, unknown>>[]>
}

export interface TestQuery {
  readonly table: string
  readonly columns: readonly string[]
  /** All of them hold. */
  readonly where?: readonly Condition[]
  /**
   * How it is written, with the same rows: with a comment at its end, over a table expression of its own, as a union of those that meet
   * the first condition and those that do not, or as distinct rows in descending order.
   */
  readonly written?: 'with_a_comment' | 'over_an_expression' | 'as_a_union' | 'as_distinct_rows'
}

export type Condition =
  /** A text is sent as a parameter. */
  | { readonly column: string; readonly is: string | boolean }
  | { readonly column: string; readonly above: number }
  /** The number is sent as a parameter. */
  | { readonly column: string; readonly below: number }
  | { readonly not: Condition }
  /** Another table has such a row. */
  | { readonly any: string; readonly where: Condition }
  /** Another table has more rows than this. */
  | { readonly rowsOf: string; readonly above: number }
  /** The present is later than this instant. */
  | { readonly presentAfter: string }
  /** Cannot be evaluated for rows where this column is zero. */
  | { readonly dividesBy: string }
  /** Takes this long to evaluate. */
  | { readonly takesMs: number }
