// What regrow needs of `pg`, by shape: a pool, a client, or a url that makes pools of our own.
// Handlers' transactions and regrow's own statements never compete for the last connection: beat and settle always get one.
import { RegrowError } from '../../base/errors.ts'
import { type Row, type SqlDatabase, type SqlExecutor, type SqlField, sqlState } from '../../store/executor.ts'

interface PgAnswer {
  rows: Row[]
  fields?: SqlField[]
}

/** A client of `pg`, from a pool or alone. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<PgAnswer>
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
  readonly options?: { readonly max?: number | undefined }
}

export type PostgresGiven = string | (() => string | Promise<string>) | PgPool | PgClient

export interface PostgresOptions {
  /** Connections for handlers' transactions when a url is given; regrow's own statements have two more. Defaults to 10. */
  readonly max?: number
}

export interface OpenDatabase extends SqlDatabase {
  close(): Promise<void>
}

export async function openDatabase(
  given: PostgresGiven | undefined,
  { max = 10 }: PostgresOptions,
): Promise<OpenDatabase> {
  if (typeof given === 'object' && given !== null) return isPool(given) ? onPool(given) : onClient(given)
  const url = typeof given === 'function' ? await given() : given
  if (typeof url !== 'string' || url === '')
    throw new RegrowError(
      'no_url',
      `postgres() was given ${url === '' ? 'an empty text' : (JSON.stringify(url) ?? 'undefined')} as its address`,
      'Set DATABASE_URL, or pass postgres://user@host/database, a function that returns it, a pg Pool or a pg Client.',
    )
  const pg = await import('pg').catch((cause: unknown) => {
    throw new RegrowError('missing_package', 'The package pg is not installed', 'npm install pg', cause)
  })
  const pool = (connections: number, timeoutMs?: number) =>
    new pg.default.Pool({
      connectionString: url,
      max: connections,
      keepAlive: true,
      connectionTimeoutMillis: 10_000,
      ...(timeoutMs ? { query_timeout: timeoutMs } : {}),
    }) as unknown as PgPool
  // S16: every statement of our own ends; a user's statement in ctx.tx may take as long as it likes.
  const own = pool(2, 20_000)
  const handlers = pool(max)
  quieten(own)
  quieten(handlers)
  return {
    ...statements(own),
    transaction: (fn) => transaction(handlers, fn),
    close: async () => void (await Promise.all([own.end(), handlers.end()])),
  }
}

const isPool = (given: PgPool | PgClient): given is PgPool => 'idleCount' in given

const quiet = new WeakSet<object>()

/** Without a listener, a connection that breaks while it is idle, or between two statements, would end the process. */
function quieten(source: { on?(event: 'error', listener: (error: Error) => void): unknown }): void {
  if (quiet.has(source)) return
  quiet.add(source)
  source.on?.('error', () => {})
}

/** A pool of the user's: transactions leave one connection of it to beat and settle. */
function onPool(pool: PgPool): OpenDatabase {
  quieten(pool)
  const gate = limited(Math.max(1, (pool.options?.max ?? 10) - 1))
  return { ...statements(pool), transaction: (fn) => gate(() => transaction(pool, fn)), close: async () => {} }
}

/** One client: whoever has it is alone. */
function onClient(client: PgClient): OpenDatabase {
  quieten(client)
  const gate = limited(1)
  const alone: Pick<PgPool, 'query' | 'connect'> = {
    query: (text, values) => gate(() => client.query(text, values)),
    connect: async () => client,
  }
  const inTurn: SqlDatabase['transaction'] = (fn) => gate(() => transaction(alone, fn))
  return {
    ...statements(alone),
    queryWithin: (timeoutMs, text, params) => inTurn((tx) => within(tx, timeoutMs, text, params)),
    transaction: inTurn,
    close: async () => {},
  }
}

function statements(pool: Pick<PgPool, 'query' | 'connect'>): Pick<SqlDatabase, 'query' | 'queryWithin'> {
  return {
    query: (text, params = []) => pool.query(text, [...params]),
    queryWithin: (timeoutMs, text, params) => transaction(pool, (tx) => within(tx, timeoutMs, text, params)),
  }
}

/** begin / set local / query / commit: a timeout set in the same statement would not stop it. */
async function within(
  tx: SqlExecutor,
  timeoutMs: number,
  text: string,
  params: Parameters<SqlExecutor['query']>[1] = [],
) {
  await tx.query(`set local statement_timeout = ${Math.round(timeoutMs)}`)
  return tx.query(text, params)
}

async function transaction<T>(pool: Pick<PgPool, 'connect'>, fn: (tx: SqlExecutor) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  quieten(client)
  let broken = false
  try {
    await client.query('begin')
    const value = await fn({ query: (text, params = []) => client.query(text, [...params]) })
    await client.query('commit')
    return value
  } catch (error) {
    // A connection that has become read-only leads to what is no longer the primary: the next one is made anew (F46).
    broken = sqlState(error) === '25006'
    await client.query('rollback').catch(() => {
      broken = true
    })
    throw error
  } finally {
    client.release?.(broken)
  }
}

/** At most `most` at a time; the others wait in line. */
function limited(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const line: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => line.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = line.shift()
      if (next) next()
      else running--
    }
  }
}
