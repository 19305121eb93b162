// Effects of several runs in one transaction and one round trip: BEGIN, the statements, the last one and COMMIT travel as one unit,
// so that an error anywhere leaves nothing (S4). A write to a socket and the wake-up of who reads it cost more than a short statement does.
import { RegrowError } from '../../../../base/errors.ts'
import type { BuiltStatement, SqlQuery } from '../../../../job/pending.ts'
import type { SharedAnswers } from '../../../../store/ledger.ts'
import type { Row } from '../../../sql/client.ts'
import { sqlState } from '../../store/errors.ts'
import { type PgClient, type PgPool, quieten } from '../client.ts'
import { isUnprepared, nameOf } from '../prepared.ts'
import { isDirect } from '../server-process.ts'
import { assertNotControl, away, rolledBack, type TransactionTerms, transaction } from '../transaction.ts'
import { type Before, commitsWithLast, lastStatement, type PgConnection, type PgHearer } from './commit.ts'

/** Nobody's effect waits longer for another one's: a unit in which a statement meets a lock, or is slow, is given up. */
const limit = `set local statement_timeout = '1s'`

/** Since BEGIN: who reads this later than it was told has waited for other things. */
const elapsed = `select extract(epoch from clock_timestamp() - now()) * 1000`

/** Answers the rows of each statement; `last` fails by itself when nothing may be committed. */
export async function together(
  pool: Pick<PgPool, 'connect'>,
  statements: readonly BuiltStatement[],
  last: SqlQuery,
  { named = false, watch }: Pick<TransactionTerms, 'named' | 'watch'> = {},
): Promise<SharedAnswers> {
  for (const { text } of statements) assertNotControl(text)
  const client = await pool.connect().catch((error) => {
    throw away(error)
  })
  quieten(client)
  const Query = (client.constructor as { Query?: QueryClass }).Query
  if (!Query || !commitsWithLast(client)) return oneByOne(client, statements, last)
  // M44: as in a transaction of its own.
  let broken = true
  let name: string | undefined
  try {
    watch?.expect(client)
    // Every value is read before anything is sent: one that cannot be is an error, and not half a unit.
    const units = statements.map(({ text, values }) => unitOf(client, Query, text, values))
    name = named && (await isDirect(client)) ? nameOf(last.text) : undefined
    const stopwatch = new Watch()
    await lastStatement(client, last.text, last.values, name, before(units, stopwatch))
    broken = false
    return { answers: units.map(({ query }) => ({ rows: query._result.rows })), tookMs: stopwatch.tookMs }
  } catch (error) {
    const isOver = await rolledBack(client)
    const forgotten = name !== undefined && isUnprepared(error)
    // F46, and a session that somebody emptied, as in a transaction of its own.
    broken = sqlState(error) === '25006' || forgotten || !isOver
    throw broken && !(error instanceof RegrowError) ? away(error) : error
  } finally {
    client.release?.(broken)
  }
}

/** A client that speaks for itself alone gets them one after the other. */
function oneByOne(client: PgClient, statements: readonly BuiltStatement[], last: SqlQuery): Promise<SharedAnswers> {
  return transaction({ connect: async () => client }, async (tx, own) => {
    await tx.query(limit)
    const answers: { rows: Row[] }[] = []
    for (const { text, values } of statements) answers.push({ rows: (await own.query(text, [...values])).rows })
    const [watched] = (await tx.query(`${elapsed} as ms`)).rows
    await tx.query(last.text, last.values)
    return { answers, tookMs: Number(watched?.ms) }
  })
}

/** The part of pg's Query that is used here: it turns values into what is sent, and rows into what is answered. */
interface PgQuery extends PgHearer {
  readonly _result: { readonly rows: Row[]; _types?: unknown }
  prepare(connection: object): void
}

type QueryClass = new (text: string, values: readonly unknown[], callback: (error: unknown) => void) => PgQuery

interface Unit {
  readonly text: string
  readonly values: readonly unknown[]
  readonly query: PgQuery
}

/** With the client's parsers, as pg's client gives them to what it sends. By a text: pg would copy a description of it. */
function unitOf(client: PgClient, Query: QueryClass, text: string, values: readonly unknown[]): Unit {
  let wrong: { readonly error: unknown } | undefined
  const query = new Query(text, [...values], (error) => (wrong = { error }))
  if (client.getTypeParser) query._result._types = client
  let read: readonly unknown[] = []
  const ignored = { parse() {}, describe() {}, execute() {}, sync() {}, close() {} }
  query.prepare({
    ...ignored,
    bind: ({ values, valueMapper }: { values: unknown[]; valueMapper: (value: unknown) => unknown }) => {
      read = values.map((value) => valueMapper(value))
    },
  })
  if (wrong) throw wrong.error
  return { text, values: read, query }
}

/** BEGIN and the limit come before the first of them. */
const own = ['begin', limit]

/** Hears how long it took. */
class Watch implements PgHearer {
  tookMs = 0
  handleRowDescription() {}
  handleDataRow({ fields: [ms] }: { fields: readonly string[] }) {
    this.tookMs = Number(ms)
  }
  handleCommandComplete() {}
}

const before = (units: readonly Unit[], watch: Watch): Before => ({
  send(connection: PgConnection) {
    const ours = (text: string) => {
      connection.parse({ text })
      connection.bind({})
      connection.execute({})
    }
    for (const text of own) ours(text)
    let parsed: string | undefined
    for (const { text, values } of units) {
      // Mostly they are one text with other values: it is parsed once, and planned a few times.
      if (text !== parsed) connection.parse({ text })
      parsed = text
      connection.bind({ values })
      connection.describe({ type: 'P', name: '' })
      connection.execute({})
    }
    ours(elapsed)
  },
  hearer(completed) {
    const at = completed - own.length
    return at === units.length ? watch : units[at]?.query
  },
})
