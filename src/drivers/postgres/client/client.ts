// What regrow needs of `pg`, by shape: a pool, a client, and what its transactions are to the user. No type of `pg` itself:
// whoever gives a url has no need of its types.
import type { Row, SqlField } from '../../sql/client.ts'

interface PgAnswer {
  rows: Row[]
  fields?: SqlField[]
  command?: string
}

/** A client of `pg`, from a pool or alone. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<PgAnswer>
  query(config: { name: string; text: string; values: unknown[] }): Promise<PgAnswer>
  /** What it writes to. */
  readonly connection?: {
    readonly stream?: {
      cork?(): void
      uncork?(): void
      destroy?(why?: Error): void
      readonly bytesRead?: number
    }
  }
  /** False while a statement has no answer. */
  readonly readyForQuery?: boolean
  /** What the server said with its last answer: `I`, there is no transaction. Not in older versions of pg. */
  getTransactionStatus?(): string | null
  /** How pg's own client tells that it is still being made, or was told to end. */
  readonly _connected?: boolean
  readonly _ending?: boolean
  /** The server process, as it was told at start-up. */
  readonly processID?: number | null
  /** What turns a column's text into a value, as the pool or the client was told. */
  getTypeParser?(oid: number, format?: never): unknown
  release?(destroy?: boolean | Error): void
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** A pool of `pg`. */
export interface PgPool {
  query(text: string, values?: unknown[]): Promise<PgAnswer>
  connect(): Promise<PgClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  end(): Promise<void>
  readonly idleCount: number
  /** Those that it has or makes, as pg's own pool keeps them. */
  readonly _clients?: readonly PgClient[]
  readonly options?: { readonly max?: number | undefined }
}

/** What `connect()` of a pool answers: `PoolClient` of `pg`. It also has a form with a callback, which comes second. */
export type PgClientOf<Pool> = Pool extends {
  connect(): Promise<infer Client>
  connect(callback: never): unknown
}
  ? Client
  : PgClient

/** What a statement answers. */
export interface PgResult<R> {
  readonly rows: R[]
  /** Rows that were written or returned; null for statements that count none. */
  readonly rowCount: number | null
  readonly command: string
  readonly fields: readonly SqlField[]
}

/** A transaction where a url was given: the part of a client of `pg` that needs none of its types. */
export interface PgTransaction {
  query<R extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<PgResult<R>>
  query<R extends object = Record<string, unknown>>(config: {
    readonly text: string
    readonly values?: readonly unknown[]
  }): Promise<PgResult<R>>
}

/** Where the database is: an address, or a function that answers it on first use. */
export type PostgresUrl = string | (() => string | Promise<string>)

export type PostgresGiven = PostgresUrl | PgPool | PgClient

export interface PostgresOptions {
  /** Connections for handlers' transactions when a url is given; regrow's own statements have two more. Defaults to 10. */
  readonly max?: number
}

const quiet = new WeakSet<object>()
const lastWords = new WeakMap<object, Error>()

/** What the server said when it ended this connection while no statement was under way, or why the connection broke. */
export const lastWordsOf = (client: object): Error | undefined => lastWords.get(client)

/** Without a listener, a connection that breaks while it is idle, or between two statements, would end the process. */
export function quieten(source: { on?(event: 'error', listener: (error: Error) => void): unknown }): void {
  if (quiet.has(source)) return
  quiet.add(source)
  source.on?.('error', (error) => {
    // The server's own words come first; that the connection is gone comes after them.
    if (!lastWords.has(source)) lastWords.set(source, error)
  })
  // A pool tells of its new clients. One may break in the very packet that made it, before who asked for it has it.
  const pool = source as unknown as { on?(event: 'connect', listener: (client: unknown) => void): unknown }
  pool.on?.('connect', (client) => {
    if (typeof client === 'object' && client !== null) quieten(client)
  })
}
