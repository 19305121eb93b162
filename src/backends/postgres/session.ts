// What the session of a connection is like, asked once: whether a pooler stands before it, and what isolation its transactions have.
// Statements of regrow's own rely on READ COMMITTED: a take sees what was committed before it and waits for a lock instead of failing,
// and SKIP LOCKED skips. Where a role or a database has another default, each of them gets a transaction that says so.
import { messageOf, RegrowError } from '../../base/errors.ts'
import type { Row } from '../../store/executor.ts'
import type { PgClient } from './client.ts'
import { firstStatement } from './first-statement.ts'

/** Begins a transaction of regrow's own. */
export const beginOwn = 'begin isolation level read committed'

interface Session {
  /** It leads straight to its server process: statements may have names, and the session is nobody else's. */
  readonly direct: boolean
  readonly readCommitted: boolean
}

const sessions = new WeakMap<PgClient, Session>()

/** Asked once per connection, also inside a transaction. */
export async function sessionOf(client: PgClient): Promise<Session> {
  const known = sessions.get(client)
  if (known) return known
  const session = await read(client)
  sessions.set(client, session)
  return session
}

const transacting = new WeakSet<PgClient>()

/** `sessionOf` outside of a transaction. Throws where a pooler allows none: it says nothing of its mode, and only a transaction shows it. */
export async function idleSessionOf(client: PgClient): Promise<Session> {
  const session = await sessionOf(client)
  if (session.direct || transacting.has(client) || typeof client.processID !== 'number') return session
  await assertTransactions(client)
  transacting.add(client)
  return session
}

/** False behind a pooler: it answers the start-up with a process number of its own. */
export const isDirect = async (client: Asked): Promise<boolean> => (await read(client)).direct

interface Asked {
  query(text: string): Promise<{ rows: Row[] }>
  readonly processID?: number | null
}

async function read(client: Asked): Promise<Session> {
  const { rows } = await client.query(
    `select pg_backend_pid() as pid, current_setting('default_transaction_isolation') as isolation`,
  )
  return {
    direct: client.processID !== undefined && Number(rows[0]?.pid) === client.processID,
    readCommitted: rows[0]?.isolation === 'read committed',
  }
}

async function assertTransactions(client: PgClient): Promise<void> {
  try {
    await client.query('begin')
    await client.query('commit')
  } catch (error) {
    throw isStatementPooling(error) ? statementPooling(error) : error
  }
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
export async function ownStatement(
  client: PgClient,
  text: string,
  values: readonly unknown[],
  send: () => Promise<Answer> = () => client.query(text, [...values]),
): Promise<Answer> {
  if ((await idleSessionOf(client)).readCommitted) return send()
  return (client as { pipeline?: boolean }).pipeline ? allAtOnce(client, send) : oneByOne(client, text, values, send)
}

/** A client that pipelines sends the three in one packet. The COMMIT after a statement that failed is a rollback. */
async function allAtOnce(client: PgClient, send: () => Promise<Answer>): Promise<Answer> {
  const [begun, answer, committed] = await Promise.allSettled([client.query(beginOwn), send(), client.query('commit')])
  for (const each of [answer, begun, committed]) if (each.status === 'rejected') throw each.reason
  return (answer as PromiseFulfilledResult<Answer>).value
}

async function oneByOne(
  client: PgClient,
  text: string,
  values: readonly unknown[],
  send: () => Promise<Answer>,
): Promise<Answer> {
  try {
    const first = firstStatement(client, [text, values], beginOwn) as Promise<Answer> | undefined
    if (!first) await client.query(beginOwn)
    const answer = await (first ?? send())
    await client.query('commit')
    return answer
  } catch (error) {
    // A connection that cannot even do that is thrown away for its own error.
    await client.query('rollback').catch(() => {})
    throw error
  }
}
