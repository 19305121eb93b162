// The connections behind a store on Postgres: pools of our own for a url, or what the user gave.
// Handlers' transactions and regrow's own statements never compete for the last connection: beat and settle always get one.

import type { Clock } from '../../../base/clock.ts'
import { RegrowError } from '../../../base/errors.ts'
import { Lanes } from '../../../base/lanes.ts'
import { limited } from '../../../base/semaphore.ts'
import type { SqlQuery } from '../../../job/pending.ts'
import type { ConnectionFacts } from '../../../store/diagnosis.ts'
import type { StoreSurroundings } from '../../driver.ts'
import type { InARow, Row, SqlDatabase, SqlExecutor, WithinOptions } from '../../sql/client.ts'
import { assertConnected, assertOpen } from '../../sql/connected.ts'
import { oneConnection, oneTransaction } from '../../sql/single-connection.ts'
import type { Listen } from '../queue/notifier.ts'
import { walkSettings } from '../store/claims/lock-order.ts'
import { checkedAddress } from './address.ts'
import { type CancellableExecutor, cancellableExecutor } from './cancel.ts'
import { type PgClient, type PgPool, type PostgresGiven, type PostgresOptions, quieten } from './client.ts'
import { ConnectionWatch } from './connection-watch.ts'
import { clientsBeside, type LoneClient, listener } from './listen.ts'
import { ownStatement } from './own-statement.ts'
import { together } from './pipeline/transaction.ts'
import { type Prepared, prepared } from './prepared.ts'
import { Scarcity, SparingPool, sparingListen } from './scarcity.ts'
import { isDirect } from './server-process.ts'
import { type Limit, type TransactionTerms, transaction } from './transaction.ts'
import { clientWithUrl } from './url-client.ts'

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
  const url = typeof given === 'function' ? given : checkedAddress(given)
  const pg = await import('pg').catch((cause: unknown) => {
    throw new RegrowError('missing_package', 'The package pg is not installed', 'npm install pg', cause)
  })
  // A function is asked for every new connection, the one that listens among them.
  const address =
    typeof url === 'function'
      ? { Client: clientWithUrl(pg.default.Client, url, clock) }
      : { Client: pg.default.Client, connectionString: url }
  const pool = (connections: number, timeoutMs?: number, pipeline = false) =>
    new pg.default.Pool({
      ...address,
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
  const make = () => new address.Client({ ...address, ...reachable }) as unknown as LoneClient
  const watch = new ConnectionWatch({ clock, leaseMs, make })
  // While the server has no connection left, one is kept for beats, settles and the queue, and each of the others only while it is used.
  const scarcity = new Scarcity(clock)
  const sparing = (each: PgPool, keep = 0) => new SparingPool(each, scarcity, { keep, through: watch.over(each) })
  const own = prepared(sparing(pools.own, 1), walkSettings)
  const queue = prepared(sparing(pools.queue))
  const checks = prepared(sparing(pools.checks), undefined, { clock, own })
  const handlers = sparing(pools.handlers)
  return {
    ...statements(clock, own, { checks, pages: sparing(pools.pages) }, theirsMax),
    queue: { query: (text, params) => (scarcity.scarce ? own : queue).query(text, params) },
    listen: sparingListen(scarcity, listener(clock, make)),
    ...bounded(handlers, max, { named: true, watch }),
    reserve: () => handlers.reserve(),
    connections: connectionFacts('address', ownMost + max, pools.own),
    close: () => endPools(clock, Object.values(pools)),
  }
}

/** What is still being made then, or was told to end and is open, leads to a server that is silent. */
const endMs = 1_000

/** Ends pools of our own. Connections that are lent are waited for. */
async function endPools(clock: Clock, pools: readonly PgPool[]): Promise<void> {
  const clients = pools.flatMap(({ _clients = [] }) => _clients)
  const isUnused = ({ _connected, _ending }: PgClient) => _connected === false || _ending === true
  const destroy = () => {
    for (const client of clients) if (isUnused(client)) client.connection?.stream?.destroy?.()
  }
  clock.after(endMs, destroy, { background: true })
  await Promise.all(pools.map((each) => each.end()))
}

/** How many statements with the user's SQL are under way at a time; of checks also how many are kept for jobs whose checks are quick. */
interface TheirsMost {
  readonly checks: number
  readonly kept: number
  readonly quick: number
  readonly pages: number
}

/**
 * Connections for the user's SQL. Few are open as long as answers come: only a page or check that hangs lets another one be opened
 * beside it, so that the next job's does not wait for its time limit (sweep/sweep-loop.ts bounds how many passes there are).
 */
const theirsMax: TheirsMost = { checks: 12, kept: 4, quick: 4, pages: 16 }

/** How connections of ours are made. Probes of the network find one that is gone while it waits, also behind a pooler. */
const reachable = { keepAlive: true, keepAliveInitialDelayMillis: 10_000, connectionTimeoutMillis: 10_000 }

/** A beat and two settles, and the queue. */
const ownMax = { own: 3, queue: 3 }
/** All of these, and the one that listens. */
const ownMost = ownMax.own + ownMax.queue + theirsMax.checks + theirsMax.pages + 1

/** Of a pool that is not ours, pages get half and checks the other half; of that, checks that hang get half again. */
const halves = (most: number): TheirsMost => {
  const half = Math.max(1, Math.floor(most / 2))
  return { checks: half, kept: Math.ceil(half / 2), quick: half, pages: half }
}

const whatIsGiven = 'What postgres() was given'

const isPool = (given: PgPool | PgClient): given is PgPool => 'idleCount' in given

/** A pool of the user's: transactions leave one connection of it to beat and settle. */
function onPool(given: PgPool, limit: Limit, leaseMs: number): OpenDatabase {
  quieten(given)
  const close = async () => {}
  const size = given.options?.max ?? 10
  const make = clientsBeside(given)
  const watch = new ConnectionWatch({ clock: limit.clock, leaseMs, make })
  const pool = watch.over({
    connect: async () => {
      assertOpen(given, whatIsGiven)
      return given.connect()
    },
  })
  const queue: SqlExecutor = pool
  if (size > 1) {
    const keep = Number.POSITIVE_INFINITY
    const handlers = new SparingPool(given, new Scarcity(limit.clock), { keep, through: pool })
    return {
      ...statements(
        limit.clock,
        queue,
        { checks: cancellableExecutor(pool, { clock: limit.clock, own: queue }), pages: pool },
        halves(size - 1),
      ),
      queue,
      listen: make && listener(limit.clock, make),
      ...bounded(handlers, size - 1, { watch }, given),
      reserve: () => handlers.reserve(),
      connections: connectionFacts('pool', size, pool),
      close,
    }
  }
  const db = oneConnection(given, {
    ...statements(limit.clock, queue, { checks: queue, pages: pool }, halves(1)),
    transaction: timed(pool, limit, watch),
  })
  return { ...db, queue: db, listen: null, connections: connectionFacts('pool', size, pool), close }
}

/** One client: whoever has it is alone. */
function onClient(client: PgClient, limit: Limit): OpenDatabase {
  quieten(client)
  const inTurn = limited(1)
  const connected = async () => {
    assertConnected(client, whatIsGiven)
    return client
  }
  const alone: Pick<PgPool, 'connect'> = { connect: connected }
  const timely = timed(alone, limit)
  const lone: SqlExecutor = {
    query: (text, params = []) => inTurn(async () => ownStatement(await connected(), text, params)),
  }
  const db: SqlDatabase<PgClient> = {
    ...statements(limit.clock, lone, { checks: lone, pages: alone }, halves(1)),
    queryWithin: (...args) => inTurn(() => transaction(alone, (tx) => within(tx, ...args), { own: true })),
    transaction: (fn, options) => inTurn(() => timely(fn, options)),
  }
  const only = oneConnection(client, db)
  const connections = connectionFacts('client', 1, alone)
  return { ...only, queue: only, listen: null, connections, close: async () => {} }
}

/** `pool`: where one of its connections can be had, to see whether it leads to its server. */
const connectionFacts =
  (from: ConnectionFacts['from'], most: number, pool: Pick<PgPool, 'connect'>) =>
  async (): Promise<ConnectionFacts> => {
    const client = await pool.connect()
    quieten(client)
    let broken = true
    try {
      // A client that was never told its server process cannot say.
      const pooler = typeof client.processID === 'number' && !(await isDirect(client))
      broken = false
      return { from, most, pooler }
    } finally {
      if (from !== 'client') client.release?.(broken)
    }
  }

/** At most `most` transactions at a time; the others wait in line. `of`: what several apps may have been given. */
function bounded(
  pool: Pick<PgPool, 'connect'>,
  most: number,
  terms: TransactionTerms = {},
  of: object = pool,
): Pick<SqlDatabase<PgClient>, 'transaction' | 'together'> {
  const { limit, named, watch } = terms
  const begin: SqlDatabase<PgClient>['transaction'] = (fn, { opened, own } = {}) =>
    transaction(pool, fn, { limit, named, watch, opened, own })
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

/**
 * Statements of regrow's own, and those that hold the user's SQL: a pending query that hangs stops its own job, not the rest. A take
 * does not wait with the check of a job whose checks are slow: it goes ahead, and the check follows by itself.
 */
function statements(
  clock: Clock,
  own: SqlExecutor,
  theirs: { readonly checks: CancellableExecutor | Prepared; readonly pages: Pick<PgPool, 'connect'> },
  { checks: most, kept, quick, pages: pagesMost }: TheirsMost,
): Pick<SqlDatabase, 'query' | 'queryTheirs' | 'queryThenTheirs' | 'queryWithin'> {
  const checks = new Lanes(clock, { what: 'The check', most, kept, quick })
  const pages = limited(pagesMost)
  const both = 'queryThen' in theirs.checks ? theirs.checks : null
  const ownAlone = async (queries: readonly SqlQuery[]): Promise<InARow> => {
    const answers: { rows: Row[] }[] = []
    for (const { text, values } of queries) answers.push(await own.query(text, values))
    return { own: answers, theirs: null }
  }
  return {
    query: (text, params) => own.query(text, params),
    queryTheirs: (text, params, lane = '') => checks.run(lane, (signal) => theirs.checks.query(text, params, signal)),
    ...(both && {
      queryThenTheirs: (ours, their, lane) =>
        checks.isSlow(lane)
          ? ownAlone(ours)
          : checks.run(lane, (signal) => both.queryThen(ours, their, signal), { again: false }),
    }),
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
