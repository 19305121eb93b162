// How regrow speaks SQL: one text for every client. Parameters are text, numbers, booleans and null only.
import type { BuiltStatement, SqlQuery, SqlValue } from '../../job/pending.ts'
import type { ConnectionFacts } from '../../store/diagnosis.ts'
import type { SharedAnswers } from '../../store/ledger.ts'
import type { TransactionOptions } from '../../store/transaction.ts'

export type Row = Record<string, unknown>

/** Runs one statement. A client of pg, a PGlite transaction, or anything of this shape. */
export interface SqlExecutor {
  query(text: string, params?: readonly SqlValue[]): Promise<{ rows: Row[]; fields?: readonly SqlField[] | undefined }>
  /**
   * In a transaction whose client can: its last statement, and the COMMIT in the same round trip. The statement has to fail
   * by itself when the transaction must not commit.
   */
  readonly last?: SqlExecutor['query']
}

export interface SqlField {
  readonly name: string
  readonly dataTypeID: number
}

/**
 * A database regrow may use: statements of its own, and transactions for `ctx.tx` and `app.transaction`.
 * `Tx` is the transaction as its client knows it.
 */
export interface SqlDatabase<Tx = unknown> extends SqlExecutor {
  /**
   * Like `query`, for statements with SQL of the user's: they may hang, and must not keep beat and settle waiting, nor those of
   * another `lane`, which is the name of their job.
   */
  queryTheirs(text: string, params?: readonly SqlValue[], lane?: string): ReturnType<SqlExecutor['query']>
  /**
   * Statements of regrow's own and one with the user's SQL right behind them, in one round trip and one session: each begins when
   * the one before has committed. Rejects as the first of its own that fails does. Missing where a client cannot.
   */
  readonly queryThenTheirs?: ((own: readonly SqlQuery[], theirs: SqlQuery, lane: string) => Promise<InARow>) | undefined
  /** Like `queryTheirs`, but the server gives up after `timeoutMs`. */
  queryWithin(
    timeoutMs: number,
    text: string,
    params?: readonly SqlValue[],
    options?: WithinOptions,
  ): Promise<{ rows: Row[]; fields?: readonly SqlField[] | undefined }>
  /** Hands out one transaction in two forms: `tx` for regrow's statements, and `own`, the client's, for the user's. */
  transaction<T>(fn: (tx: SqlExecutor, own: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  /**
   * Short statements of the user's in one transaction and one round trip; `last` goes before the COMMIT, and fails by itself when
   * there must be none. Missing where there is only one connection.
   */
  readonly together?: ((statements: readonly BuiltStatement[], last: SqlQuery) => Promise<SharedAnswers>) | undefined
  /**
   * Null while there are enough connections. Else sets one aside for transactions of a run that is about to start, and resolves to what
   * gives it back; rejects when there is none in time. Missing where connections are no server's.
   */
  readonly reserve?: (() => Promise<() => void> | null) | undefined
  /** What is to be known of its connections; missing where there is nothing to know. */
  readonly connections?: (() => Promise<ConnectionFacts>) | undefined
}

/** What they answered; `theirs` null: it failed, or is to be asked again. */
export interface InARow {
  readonly own: readonly { rows: Row[] }[]
  readonly theirs: { rows: Row[] } | null
}

export interface WithinOptions {
  /** Fails where row security would hide rows from this user, instead of hiding them. Defaults to false. */
  readonly everyRow?: boolean
}
