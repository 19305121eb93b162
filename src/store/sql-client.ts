// How regrow speaks SQL: one text for every client. Parameters are text, numbers, booleans and null only.
import type { SqlQuery, SqlValue } from '../job/pending.ts'

export type Row = Record<string, unknown>

/** A statement of the user's, with values as the client takes them. */
export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

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
  readonly together?: ((statements: readonly Statement[], last: SqlQuery) => Promise<Together>) | undefined
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

export interface TransactionOptions {
  /** May take as long as it needs, also where it holds the only connection: migrations. Defaults to false. */
  readonly unbounded?: boolean
  /**
   * It holds statements of regrow's own alone: it is READ COMMITTED, whatever the default of the role or the database is. A user's
   * transaction has the isolation that the user's database gives it. Defaults to false.
   */
  readonly own?: boolean
  /**
   * Called when it has its connection, with what closes that at once and fails whatever waits for it. Never called where the
   * store could not make another one.
   */
  readonly opened?: ((abandon: (why: Error) => void) => void) | undefined
}

/** How a process reaches its database, for `doctor`. */
export interface ConnectionFacts {
  /** What regrow was given. With an address it makes pools of its own, as large as they have to be. */
  readonly from: 'address' | 'pool' | 'client'
  /** Connections of this process at most. */
  readonly most: number
  /** A pooler stands between: sessions are not the client's own. */
  readonly pooler: boolean
}

/** What statements answered that shared a transaction, and how long the server was at it, waiting for nobody. */
export interface Together {
  readonly answers: readonly { rows: Row[] }[]
  readonly tookMs: number
}
