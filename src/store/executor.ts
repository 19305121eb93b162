// How regrow speaks SQL: one text for every client. Parameters are text, numbers, booleans and null only.
import type { SqlValue } from '../job/pending.ts'

/** Runs one statement. */
export interface SqlExecutor {
  query(text: string, params?: readonly SqlValue[]): Promise<{ rows: Record<string, unknown>[] }>
}

/** A database regrow may use: statements of its own, and transactions for `ctx.tx`. */
export interface SqlDatabase extends SqlExecutor {
  transaction<T>(fn: (tx: SqlExecutor) => Promise<T>): Promise<T>
}
