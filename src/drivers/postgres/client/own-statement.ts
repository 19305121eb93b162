// One statement of regrow's own, on any connection. Such statements rely on READ COMMITTED: a check sees what was committed before it, a
// settle waits for a lock instead of failing, and SKIP LOCKED skips. Where a role or a database has another default, each of them gets a
// transaction that says so.
import { messageOf, RegrowError } from '../../../base/errors.ts'
import type { PgClient } from './client.ts'
import { firstStatement } from './pipeline/begin.ts'
import { isDirect, isReadCommitted } from './server-process.ts'

/** Begins a transaction of regrow's own. */
export const beginOwn = 'begin isolation level read committed'

/** Connections on which transactions are known to be possible. */
const transacting = new WeakSet<PgClient>()

/** Throws where a pooler allows no transactions: it says nothing of its mode, and only a transaction shows it. */
async function assertTransactions(client: PgClient): Promise<void> {
  if (typeof client.processID === 'number' && !(await isDirect(client)))
    try {
      await client.query('begin')
      await client.query('commit')
    } catch (error) {
      throw isStatementPooling(error) ? statementPooling(error) : error
    }
  transacting.add(client)
}

/** PgBouncer says so in the words of its version, with the state of a broken protocol. */
export const isStatementPooling = (error: unknown): boolean =>
  /statement pooling|(?:transaction blocks|long transactions) not allowed/i.test(messageOf(error))

export const statementPooling = (cause: unknown) =>
  new RegrowError(
    'statement_pooling',
    'The pooler in front of the store allows no transactions: its pool_mode is statement',
    'Set pool_mode = transaction (or session) for this database in PgBouncer, or give the address of Postgres itself.',
    cause,
  )

type Answer = Awaited<ReturnType<PgClient['query']>>

/** One statement of regrow's own, READ COMMITTED whatever the default of the session is. */
export async function ownStatement(client: PgClient, text: string, values: readonly unknown[]): Promise<Answer> {
  if (!transacting.has(client)) await assertTransactions(client)
  if (await isReadCommitted(client)) return client.query(text, [...values])
  return (client as { pipeline?: boolean }).pipeline ? allAtOnce(client, text, values) : oneByOne(client, text, values)
}

/** A client that pipelines sends the three in one packet. The COMMIT after a statement that failed is a rollback. */
async function allAtOnce(client: PgClient, text: string, values: readonly unknown[]): Promise<Answer> {
  const [begun, answer, committed] = await Promise.allSettled([
    client.query(beginOwn),
    client.query(text, [...values]),
    client.query('commit'),
  ])
  for (const each of [answer, begun, committed]) if (each.status === 'rejected') throw each.reason
  return (answer as PromiseFulfilledResult<Answer>).value
}

async function oneByOne(client: PgClient, text: string, values: readonly unknown[]): Promise<Answer> {
  try {
    const first = firstStatement(client, [text, values], beginOwn) as Promise<Answer> | undefined
    if (!first) await client.query(beginOwn)
    const answer = await (first ?? client.query(text, [...values]))
    await client.query('commit')
    return answer
  } catch (error) {
    // A connection that cannot even do that is thrown away for its own error.
    await client.query('rollback').catch(() => {})
    throw error
  }
}
