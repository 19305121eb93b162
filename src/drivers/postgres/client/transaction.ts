// A transaction on a connection of `pg`: begin, the user's function, commit. The client is lent for as long as it lasts.
// Where it is the only connection, beat and settle wait for it: then it is over after a limit, whatever its function awaits.
import type { Clock } from '../../../base/clock.ts'
import { readable } from '../../../base/duration.ts'
import { messageOf, RegrowError } from '../../../base/errors.ts'
import type { TransactionOptions } from '../../../store/transaction.ts'
import type { SqlExecutor } from '../../sql/client.ts'
import { sqlState } from '../store/errors.ts'
import { lastWordsOf, type PgClient, type PgPool, quieten } from './client.ts'
import type { ConnectionWatch } from './connection-watch.ts'
import { beginOwn, isStatementPooling, statementPooling } from './own-statement.ts'
import { firstStatement } from './pipeline/begin.ts'
import { commitsWithLast, lastStatement } from './pipeline/commit.ts'
import { isUnprepared, nameOf } from './prepared.ts'
import { isDirect } from './server-process.ts'
import { hasEnded, isControlTag, transactionControlIn } from './transaction-control.ts'

/** How long a transaction may hold the only connection. */
export interface Limit {
  readonly clock: Clock
  readonly ms: number
}

type Query = (...args: unknown[]) => unknown

export interface TransactionTerms {
  readonly limit?: Limit | undefined
  /** The connections are ours: statements of regrow's own may have names there, where no pooler stands between. */
  readonly named?: boolean | undefined
  /** Where there are other connections: closes this one when it leads nowhere. */
  readonly watch?: ConnectionWatch | undefined
  readonly opened?: TransactionOptions['opened']
  /** See `TransactionOptions`. */
  readonly own?: boolean | undefined
}

/** Runs `fn` in a transaction on a client of the pool; it gets an executor and the client itself. */
export async function transaction<T>(
  pool: Pick<PgPool, 'connect'>,
  fn: (tx: SqlExecutor, own: PgClient) => Promise<T>,
  { limit, named = false, watch, opened, own = false }: TransactionTerms = {},
): Promise<T> {
  const client = await pool.connect().catch((error) => {
    throw isNotConnected(error) ? error : away(error)
  })
  quieten(client)
  const loan = lend(client, limit, own ? beginOwn : 'begin')
  let over = false
  // M44: nobody gets a connection again of which it is not known that its transaction has ended.
  let broken = true
  let forgotten = false
  let committed = false
  const query: SqlExecutor['query'] = (text, params = []) => loan.query(text, [...params])
  const last: SqlExecutor['query'] = async (text, params = []) => {
    await loan.begin()
    loan.assertGoesOn()
    loan.end()
    const name = named && (await isDirect(client)) ? nameOf(text) : undefined
    const answer = await lastStatement(client, text, params, name).catch((error) => {
      forgotten = name !== undefined && isUnprepared(error)
      throw error
    })
    committed = true
    return answer
  }
  // A limit needs a statement of its own before each one.
  const tx: SqlExecutor = !limit && commitsWithLast(client) ? { query, last } : { query }
  try {
    if (watch) opened?.((why) => over || watch.close(client, why))
    if (limit) await loan.begin()
    const value = await loan.during(() => fn(tx, loan.own))
    if (!committed) loan.assertGoesOn()
    loan.end()
    if (loan.begun && !committed) assertCommitted(await client.query('commit'), loan.failed)
    broken = false
    return value
  } catch (error) {
    const thrown = loan.end(error)
    // S16: a statement of ours that had no answer in time; a rollback behind it would have none either.
    if (isLate(error)) watch?.close(client, error)
    const isOver = !loan.begun || (await rolledBack(client, limit))
    const why = toldAs(thrown, loan, client)
    // A connection that has become read-only leads to what is no longer the primary: the next one is made anew (F46).
    // So is one whose session somebody emptied (DISCARD ALL): it may have forgotten more than our statements.
    broken = sqlState(error) === '25006' || forgotten || !isOver
    throw broken && !(why instanceof RegrowError) ? away(why) : why
  } finally {
    over = true
    client.release?.(broken)
  }
}

/** The mistake of whoever gave the client: no other try helps. */
const isNotConnected = (error: unknown) => error instanceof RegrowError && error.code === 'not_connected'

const isLate = (error: unknown): error is RegrowError => error instanceof RegrowError && error.code === 'deadline'

/** What is to be told of an error: what led to it, where the server only answers that the transaction has failed, or is gone. */
function toldAs(error: unknown, { failed }: Loan, client: PgClient): unknown {
  if (error instanceof RegrowError) return error
  if (sqlState(error) === '25P02' && failed !== undefined) return nothingCommitted(failed)
  if (isStatementPooling(error)) return statementPooling(error)
  const ended = [error, lastWordsOf(client)].find(isTimeOfTransaction)
  return ended === undefined ? error : timedOut(ended)
}

interface Loan {
  /** The error of the last statement that failed by itself. */
  readonly failed: unknown
  /** The client as the user gets it: itself in all but that its statements end with the loan, and that it is not theirs to give back. */
  readonly own: PgClient
  readonly query: PgClient['query']
  /** False until a statement was sent, or `begin` called: the first one takes the BEGIN along. */
  readonly begun: boolean
  /** For who needs it before there is a statement. */
  begin(): Promise<void>
  /** Throws when a statement is known to have ended the transaction, whatever its text looked like. */
  assertGoesOn(): void
  /** Waits for the work and for what it has sent, up to the limit. */
  during<T>(work: () => Promise<T>): Promise<T>
  /** From now on statements are refused; answers what to throw for `error`. */
  end(error?: unknown): unknown
}

function lend(client: PgClient, limit: Limit | undefined, begin: string): Loan {
  const endsAt = limit ? limit.clock.now() + limit.ms : Number.POSITIVE_INFINITY
  let refused: RegrowError | undefined
  let ended = false
  let begun = false
  let failed: unknown
  let isReplaced = false
  /** What was sent before, where each statement gets the time that is left when its turn comes. */
  let line: Promise<unknown> = Promise.resolve()
  const send: Query = (...args) => {
    if (begun) return (client.query as Query).apply(client, args)
    begun = true
    const first = firstStatement(client, args, begin)
    if (first) return first
    // In line before the statement, which fails as well when this does.
    client.query(begin).catch(() => {})
    return (client.query as Query).apply(client, args)
  }
  const isLost = () => isReplaced || (begun && hasEnded(client))
  const sendAndNote: Query = (...args) => {
    const answer = send(...args)
    if (!isAwaited(args)) return answer
    // One chain of promises: a second reaction would cut the caller off the error's stack.
    return (answer as Promise<unknown>).then(
      (result) => {
        if (isControlTag(result)) isReplaced = true
        return result
      },
      (error: unknown) => {
        if (sqlState(error) !== '25P02') failed = error
        throw error
      },
    )
  }
  const query: Query = (...args) => {
    if (refused || ended) return Promise.reject(refused ?? over())
    const control = transactionControlIn(textOf(args[0]))
    if (control !== undefined) return Promise.reject(notYours(control))
    if (isLost()) return Promise.reject(endedEarly())
    if (!limit || !isAwaited(args)) return sendAndNote(...args)
    const answer = line.then(async () => {
      // The timer below ends the transaction; this ends the statement that it is in, or the rollback would wait for it.
      const leftMs = Math.max(1, Math.ceil(endsAt - limit.clock.now())) + serverLateMs
      if (!refused && !ended) await client.query(`set local statement_timeout = ${leftMs}`).catch(() => {})
      if (refused || ended) throw refused ?? over()
      return sendAndNote(...args)
    })
    line = answer.catch(() => {})
    return answer
  }
  const own = new Proxy(client, {
    get: (target, name) => {
      if (name === 'query') return query
      // The connection goes back when the transaction has ended, whatever a query builder thinks of its pool.
      if (name === 'release') return () => {}
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' && name !== 'constructor' ? value.bind(target) : value
    },
  })
  return {
    own,
    get begun() {
      return begun
    },
    get failed() {
      return failed
    },
    async begin() {
      if (begun) return
      begun = true
      await client.query(begin)
    },
    assertGoesOn() {
      if (isLost()) throw endedEarly()
    },
    query: query as PgClient['query'],
    async during(work) {
      const whole = async () => {
        const value = await work()
        await line
        return value
      }
      if (!limit) return whole()
      const done = new AbortController()
      const late = limit.clock.sleep(limit.ms, done.signal).then((): never | Promise<never> => {
        if (done.signal.aborted) return new Promise<never>(() => {})
        refused ??= tooLong(limit.ms)
        throw refused
      })
      try {
        return await Promise.race([whole(), late])
      } finally {
        done.abort()
      }
    },
    end(error) {
      const inTime = !limit || limit.clock.now() < endsAt
      if (!inTime && sqlState(error) === '57014') refused ??= tooLong(limit.ms)
      ended = true
      return refused?.code === 'tx_too_long' ? refused : error
    },
  }
}

const textOf = (statement: unknown): string =>
  typeof statement === 'string' ? statement : String((statement as { text?: unknown } | null)?.text ?? '')

/** So much later than the timer here the server ends a statement: the timer's error says more. */
const serverLateMs = 50

/** False for the forms of `query` that answer through a callback or a stream: they are sent as they come. */
const isAwaited = (args: readonly unknown[]) =>
  !args.some((arg) => typeof arg === 'function' || typeof (arg as { submit?: unknown } | null)?.submit === 'function')

/** Throws for a statement that would begin or end the transaction that it is meant for. */
export function assertNotControl(text: string): void {
  const control = transactionControlIn(text)
  if (control !== undefined) throw notYours(control)
}

/** True when the connection can be used again. Behind a limit a server that does not answer is not waited for. */
export async function rolledBack(client: PgClient, limit?: Limit): Promise<boolean> {
  const answered = answers(client, 'rollback')
  if (!limit) return answered
  const done = new AbortController()
  const late = limit.clock.sleep(limit.ms / 5, done.signal).then(() => false)
  try {
    return await Promise.race([answered, late])
  } finally {
    done.abort()
  }
}

async function answers(client: PgClient, text: string): Promise<boolean> {
  try {
    await client.query(text)
    return true
  } catch {
    return false
  }
}

/** The server answers the COMMIT of a transaction in which a statement failed with ROLLBACK, and with no error. */
function assertCommitted({ command }: { command?: string | undefined }, failed: unknown): void {
  if (command === 'ROLLBACK') throw nothingCommitted(failed)
}

const nothingCommitted = (failed: unknown) =>
  new RegrowError(
    'rolled_back',
    `A statement of the transaction failed and its error was caught, so nothing was committed${failed === undefined ? '' : `: ${messageOf(failed)}`}`,
    'Let the error pass, or undo to a savepoint before going on.',
    failed,
  )

/**
 * The server (25P03, 25P04) or PgBouncer ended a transaction for the time that it took or was idle. Another try takes as long: it is a
 * failure of whoever opened it, and is counted.
 */
const isTimeOfTransaction = (error: unknown): boolean =>
  ['25P03', '25P04'].includes(sqlState(error) ?? '') || /\bidle transaction timeout\b/i.test(messageOf(error))

const timedOut = (cause: unknown) =>
  new RegrowError(
    'tx_timed_out',
    `The server ended the transaction: ${messageOf(cause)}`,
    'Do the slow part before ctx.tx, so that statements follow each other. Or raise idle_in_transaction_session_timeout (or transaction_timeout) for this role.',
    cause,
  )

/** No fault of who asked: a run that ends with this is not counted. */
export const away = (cause: unknown) =>
  new RegrowError(
    'store_away',
    'The connection to the store could not be made, or broke; nothing is known to be committed',
    'Let it end: the run starts again by itself, and nothing is counted.',
    cause,
  )

const over = () =>
  new RegrowError(
    'tx_over',
    'A statement on a transaction that has ended',
    'Await every statement inside the function that ctx.tx or app.transaction was given.',
  )

/** S4: effects that commit before the fence would be those of a run that may have lost its claim. */
const notYours = (text: string) =>
  new RegrowError(
    'tx_control',
    `\`${text.trim().slice(0, 40)}\` inside ctx.tx or app.transaction: it would begin or end the transaction that the outcome belongs to`,
    'Return to commit, throw to roll back. For a part that may fail use savepoint and rollback to savepoint.',
  )

const endedEarly = () =>
  new RegrowError(
    'tx_control',
    'The transaction of ctx.tx or app.transaction ended before its function did: one of its statements committed it or rolled it back, or it never began',
    'What was committed stays. Return to commit, throw to roll back, and let errors of the first statement pass.',
  )

const tooLong = (ms: number) =>
  new RegrowError(
    'tx_too_long',
    `The transaction held the store's only connection for ${readable(ms)}, half of the lease, and was rolled back: workers could not tell that they are alive`,
    'Do the slow part before ctx.tx. Or give postgres() a pool of 2 or more, or a url: then transactions have connections of their own.',
  )
