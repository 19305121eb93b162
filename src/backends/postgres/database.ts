// The connections behind a store on Postgres: pools of our own for a url, or what the user gave.
// Handlers' transactions and regrow's own statements never compete for the last connection: beat and settle always get one.
import { RegrowError } from '../../base/errors.ts'
import { limited } from '../../base/limited.ts'
import type { ConnectionFacts, SqlDatabase, SqlExecutor, WithinOptions } from '../../store/executor.ts'
import { oneConnection, oneTransaction } from '../../store/one-connection.ts'
import type { StoreSurroundings } from '../driver.ts'
import { checkedAddress } from './address.ts'
import { type PgClient, type PgPool, type PostgresGiven, type PostgresOptions, quieten } from './client.ts'
import { type Connections, ConnectionWatch } from './connection-watch.ts'
import { clientsBeside, type LoneClient, listener } from './listener.ts'
import { ownStatement } from './own-statement.ts'
import { type Prepared, prepared, walking } from './prepared.ts'
import type { Listen } from './queue/bell.ts'
import { isDirect } from './server-process.ts'
import { together } from './together.ts'
import { type Limit, type TransactionTerms, transaction } from './transaction.ts'

export interface OpenDatabase extends SqlDatabase<PgClient> {
  /** For the queue in this database: one that hangs keeps nothing else waiting. */
  readonly queue: SqlExecutor
  /** Opens a connection beside all others; null where there can be none. */
  readonly listen: Listen | null
  close(): Promise<void>
}

export async function openDatabase(
  given: PostgresGiven | undefined,
  { max = 10 }: PostgresOptions,
  { clock, leaseMs }: StoreSurroundings,
): Promise<OpenDatabase> {
  if (typeof given === 'object' && given !== null) {
    // A transaction on the only connection keeps beats away: half a lease leaves time for the next one.
    const limit = { clock, ms: leaseMs / 2 }
    if (isPool(given)) return onPool(given, limit, leaseMs)
    if (typeof given.query === 'function') return onClient(given, limit)
    throw new RegrowError(
      'no_url',
      'postgres() was given an object that is neither a Pool nor a Client of pg',
      'Pass an address, postgres(url), or new pg.Pool({ … }).',
    )
  }
  const url = checkedAddress(typeof given === 'function' ? await given() : given)
  const pg = await import('pg').catch((cause: unknown) => {
    throw new RegrowError('missing_package', 'The package pg is not installed', 'npm install pg', cause)
  })
  const pool = (connections: number, timeoutMs?: number, pipeline = false) =>
    new pg.default.Pool({
      connectionString: url,
      max: connections,
      // Several statements of one client may be on their way; nobody else has it meanwhile. Clients that are older send one at a time.
      ...(pipeline ? { pipeline } : {}),
      ...reachable,
      ...(timeoutMs ? { query_timeout: timeoutMs } : {}),
    }) as unknown as PgPool
  // S16: every statement of our own ends; a user's statement in ctx.tx may take as long as it likes.
  const pools = {
    own: pool(ownMax.own, 20_000),
    queue: pool(ownMax.queue, 20_000),
    checks: pool(theirsMax.checks, 20_000, true),
    pages: pool(theirsMax.pages, 20_000),
    handlers: pool(max),
  }
  for (const each of Object.values(pools)) quieten(each)
  const make = () => new pg.default.Client({ connectionString: url, ...reachable }) as unknown as LoneClient
  const watch = new ConnectionWatch({ clock, leaseMs, make })
  const checks = prepared(watch.over(pools.checks))
  return {
    ...statements(prepared(watch.over(pools.own), walking), { checks, pages: watch.over(pools.pages) }, theirsMax),
    queue: prepared(watch.over(pools.queue)),
    listen: listener(clock, make),
    ...bounded(watch.over(pools.handlers), max, { named: true, watch }),
    connections: connectionFacts('address', ownMost + max, pools.own),
    close: async () => void (await Promise.all(Object.values(pools).map((each) => each.end()))),
  }
}

/**
 * Connections for the user's SQL. Few are open as long as answers come: only a page that hangs lets another one be opened
 * beside it, so that the next job's page does not wait for its time limit (sweep/turn.ts bounds how many passes there are).
 */
const theirsMax = { checks: 4, pages: 16 }

/** How connections of ours are made. Probes of the network find one that is gone while it waits, also behind a pooler. */
const reachable = { keepAlive: true, keepAliveInitialDelayMillis: 10_000, connectionTimeoutMillis: 10_000 }

/** A beat and two settles, and the queue. */
const ownMax = { own: 3, queue: 3 }
/** All of these, and the one that listens. */
const ownMost = ownMax.own + ownMax.queue + theirsMax.checks + theirsMax.pages + 1

/** Of a pool that is not ours, pages get half and checks the other half. */
const halves = (most: number) => {
  const half = Math.max(1, Math.floor(most / 2))
  return { checks: half, pages: half }
}

const isPool = (given: PgPool | PgClient): given is PgPool => 'idleCount' in given

/** A pool of the user's: transactions leave one connection of it to beat and settle. */
function onPool(given: PgPool, limit: Limit, leaseMs: number): OpenDatabase {
  quieten(given)
  const close = async () => {}
  const size = given.options?.max ?? 10
  const make = clientsBeside(given)
  const watch = new ConnectionWatch({ clock: limit.clock, leaseMs, make })
  const pool = watch.over(given)
  const queue: SqlExecutor = pool
  if (size > 1)
    return {
      ...statements(queue, { checks: queue, pages: pool }, halves(size - 1)),
      queue,
      listen: make && listener(limit.clock, make),
      ...bounded(pool, size - 1, { watch }, given),
      connections: connectionFacts('pool', size, pool),
      close,
    }
  const db = oneConnection(given, {
    ...statements(queue, { checks: queue, pages: pool }, halves(1)),
    transaction: timed(pool, limit, watch),
  })
  return { ...db, queue: db, listen: null, connections: connectionFacts('pool', size, pool), close }
}

/** One client: whoever has it is alone. */
function onClient(client: PgClient, limit: Limit): OpenDatabase {
  quieten(client)
  const inTurn = limited(1)
  const alone: Pick<PgPool, 'connect'> = { connect: async () => client }
  const timely = timed(alone, limit)
  const lone: SqlExecutor = { query: (text, params = []) => inTurn(() => ownStatement(client, text, params)) }
  const db: SqlDatabase<PgClient> = {
    ...statements(lone, { checks: lone, pages: alone }, halves(1)),
    queryWithin: (...args) => inTurn(() => transaction(alone, (tx) => within(tx, ...args), { own: true })),
    transaction: (fn, options) => inTurn(() => timely(fn, options)),
  }
  const only = oneConnection(client, db)
  const connections = connectionFacts('client', 1, { connect: async () => client })
  return { ...only, queue: only, listen: null, connections, close: async () => {} }
}

/** `pool`: where one of its connections can be had, to see whether it leads to its server. */
const connectionFacts =
  (from: ConnectionFacts['from'], most: number, pool: Pick<PgPool, 'connect'>) =>
  async (): Promise<ConnectionFacts> => {
    const client = await pool.connect()
    quieten(client)
    try {
      // A client that was never told its server process cannot say.
      return { from, most, pooler: typeof client.processID === 'number' && !(await isDirect(client)) }
    } finally {
      if (from !== 'client') client.release?.()
    }
  }

/** At most `most` transactions at a time; the others wait in line. `of`: what several apps may have been given. */
function bounded(
  pool: Connections,
  most: number,
  terms: TransactionTerms = {},
  of: object = pool,
): Pick<SqlDatabase<PgClient>, 'transaction' | 'together'> {
  const begin: SqlDatabase<PgClient>['transaction'] = (fn, { opened, own } = {}) =>
    transaction(pool, fn, { ...terms, opened, own })
  if (most <= 1) return { transaction: oneTransaction(of, begin) }
  const gate = limited(most)
  return {
    transaction: (fn, options) => gate(() => begin(fn, options)),
    together: (statements, last) => gate(() => together(pool, statements, last, terms)),
  }
}

/** Transactions that end after the limit. */
const timed =
  (pool: Pick<PgPool, 'connect'>, limit: Limit, watch?: ConnectionWatch): SqlDatabase<PgClient>['transaction'] =>
  (fn, { unbounded = false, opened, own } = {}) =>
    transaction(pool, fn, unbounded ? { own } : { limit, watch, opened, own })

/** Statements of regrow's own, and those that hold the user's SQL: a pending query that hangs stops its own job, not the rest. */
function statements(
  own: SqlExecutor,
  theirs: { readonly checks: SqlExecutor | Prepared; readonly pages: Pick<PgPool, 'connect'> },
  most: { readonly checks: number; readonly pages: number },
): Pick<SqlDatabase, 'query' | 'queryTheirs' | 'queryThenTheirs' | 'queryWithin'> {
  const [checks, pages] = [limited(most.checks), limited(most.pages)]
  const both = 'queryThen' in theirs.checks ? theirs.checks : null
  return {
    query: (text, params) => own.query(text, params),
    queryTheirs: (text, params) => checks(() => theirs.checks.query(text, params)),
    ...(both && { queryThenTheirs: (...args) => checks(() => both.queryThen(...args)) }),
    queryWithin: (...args) => pages(() => transaction(theirs.pages, (tx) => within(tx, ...args), { own: true })),
  }
}

/**
 * begin / set local / query / commit: a timeout set in the same statement would not stop it. A page is a few milliseconds of
 * work whose guess looks like many: compiling it would take longer.
 */
async function within(
  tx: SqlExecutor,
  timeoutMs: number,
  text: string,
  params: Parameters<SqlExecutor['query']>[1] = [],
  { everyRow = false }: WithinOptions = {},
) {
  const strict = everyRow ? `, set_config('row_security', 'off', true)` : ''
  await tx.query(`select set_config('statement_timeout', $1, true), set_config('jit', 'off', true)${strict}`, [
    String(Math.round(timeoutMs)),
  ])
  return tx.query(text, params)
}
