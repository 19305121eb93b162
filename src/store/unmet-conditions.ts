// Why a row is not pending: which conditions of the pending query it fails, where the query is simple enough to tell.

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
  | { readonly kind: 'no row'; readonly table: string }
  /**
   * These conditions fail; none: it meets them all by now, the row has changed meanwhile. Without a table: they do not look at the row, and
   * nothing else is known.
   */
  | { readonly kind: 'conditions'; readonly table: string | null; readonly conditions: readonly UnmetCondition[] }
  /** The query is not simple enough to tell; `why` says what is in the way. */
  | { readonly kind: 'untold'; readonly why: string }
