// Statements that are sent over and over, prepared once per connection: planning a take or a check costs three times what
// executing it does. Only on a connection that leads straight to its server process; behind a pooler names would belong to
// somebody else's session.
import { createHash } from 'node:crypto'
import type { SqlQuery } from '../../../job/pending.ts'
import type { InARow } from '../../sql/client.ts'
import { sqlState } from '../store/errors.ts'
import { type CancellableExecutor, type Canceller, cancellable } from './cancel.ts'
import { type PgClient, type PgPool, quieten } from './client.ts'
import { ownStatement } from './own-statement.ts'
import { isDirect } from './server-process.ts'

/**
 * Plans are kept, so they must be right for a table that is empty now and large in a minute: by index, and not compiled.
 * The settings are the session's, and nobody else uses it.
 */
const settings = {
  enable_seqscan: 'off',
  jit: 'off',
  default_transaction_isolation: 'read committed',
  extra_float_digits: '1',
}

export type SessionSettings = Readonly<Record<string, string>>

/** The statement that gives a session these settings, and those of every session with prepared statements. */
export const setUp = (more: SessionSettings = {}): string =>
  `select ${Object.entries({ ...settings, ...more })
    .map(([name, value]) => `set_config('${name}', '${value}', false)`)
    .join(', ')}`

/** 26000: no such statement; 42P05: there is one already; 0A000: its result has another shape since a migration. */
const unprepared = new Set(['26000', '42P05', '0A000'])
export const isUnprepared = (error: unknown): boolean => unprepared.has(sqlState(error) ?? '')

/** Texts that get a name, at most: a pending query that is another text each time would fill the server's memory. */
const namesMost = 500

/**
 * Runs statements on connections of a pool of our own. All of them look for keys. `more`: settings that these statements need besides;
 * `canceller`: for those that get a signal.
 */
export function prepared(pool: Pick<PgPool, 'connect'>, more?: SessionSettings, canceller?: Canceller): Prepared {
  const ready = new WeakSet<PgClient>()
  /** True where statements get names, and are planned for that. */
  const isNamed = async (client: PgClient) => {
    if (ready.has(client)) return true
    if (!(await isDirect(client))) return false
    await client.query(setUp(more))
    ready.add(client)
    return true
  }
  const withCancel = <T>(client: PgClient, text: string, signal: AbortSignal | undefined, work: () => Promise<T>) =>
    canceller ? cancellable(canceller, client, text, signal, work) : work()
  return {
    async query(text, params = [], signal) {
      const client = await pool.connect()
      quieten(client)
      // M44: whatever else may happen here, the connection is not used again.
      let broken = true
      try {
        const named = await isNamed(client)
        const answer = await withCancel(client, text, signal, () => send(client, { text, values: params }, named))
        broken = false
        return answer
      } catch (error) {
        broken = isBrokenBy(error)
        if (!isUnprepared(error)) throw error
      } finally {
        // A cancellation that comes late would meet the next statement.
        client.release?.(signal?.aborted || broken)
      }
      return this.query(text, params, signal)
    },
    async queryThen(own, theirs, signal) {
      const client = await pool.connect()
      quieten(client)
      let broken = true
      let failed: unknown
      try {
        const named = await isNamed(client)
        const answer = await withCancel(client, theirs.text, signal, () =>
          inARow(client, own, theirs, named, (error) => (failed = error)),
        )
        broken = failed !== undefined && isBrokenBy(failed)
        return answer
      } catch (error) {
        broken = isBrokenBy(error)
        throw error
      } finally {
        client.release?.(signal?.aborted || broken)
      }
    },
  }
}

type Answer = Awaited<ReturnType<PgClient['query']>>

/**
 * S2: each begins when the one before has committed. Behind a pooler it waits for the answer: it might get another session.
 * `failed` hears of errors that are none of the answers: the last one's, and that a statement was not prepared.
 */
async function inARow(
  client: PgClient,
  own: readonly SqlQuery[],
  theirs: SqlQuery,
  named: boolean,
  failed: (error: unknown) => void,
): Promise<InARow> {
  if (!named) return oneByOne(client, own, theirs, [], failed)
  const sent = inOneGo(client, () => [...own, theirs].map((each) => send(client, each, true)))
  const results = await Promise.allSettled(sent)
  const answers: Answer[] = []
  for (const result of results.slice(0, own.length)) {
    if (result.status === 'fulfilled') {
      answers.push(result.value)
      continue
    }
    if (!isUnprepared(result.reason)) throw result.reason
    failed(result.reason)
    // It was not even begun, and those behind it came too early: they go again, in their order.
    return oneByOne(client, own, null, answers, failed)
  }
  const last = results.at(-1) as PromiseSettledResult<Answer>
  if (last.status === 'rejected') failed(last.reason)
  return { own: answers, theirs: last.status === 'fulfilled' ? last.value : null }
}

/** `known`: what the first of them answered already. */
async function oneByOne(
  client: PgClient,
  own: readonly SqlQuery[],
  theirs: SqlQuery | null,
  known: readonly Answer[],
  failed: (error: unknown) => void,
): Promise<InARow> {
  const answers = [...known]
  for (const each of own.slice(known.length)) answers.push(await send(client, each, false))
  const last = theirs && (await send(client, theirs, false).catch(failed))
  return { own: answers, theirs: last ?? null }
}

/** Statements by themselves, or several in a row: see `SqlDatabase.queryThenTheirs`. */
export interface Prepared extends CancellableExecutor {
  queryThen(own: readonly SqlQuery[], theirs: SqlQuery, signal?: AbortSignal): Promise<InARow>
}

/** A named one is made here where `pg` tells how: it would copy the description of one, which is a fifth of what sending it takes. */
function send(client: PgClient, { text, values }: SqlQuery, named: boolean): ReturnType<PgClient['query']> {
  // The settings of a direct session hold for all of its statements; a session behind a pooler keeps none.
  if (!named) return ownStatement(client, text, values)
  const name = nameOf(text)
  if (name === undefined) return client.query(text, [...values])
  const { Query } = client.constructor as { Query?: QueryClass }
  if (!Query) return client.query({ name, text, values: [...values] })
  return new Promise((resolve, reject) => {
    const query = new Query(text, values, (error, answer) => (error ? reject(error) : resolve(answer)))
    query.name = name
    client.query(query as never)
  })
}

/** A statement of pg's that submits itself. */
type QueryClass = new (
  text: string,
  values: readonly unknown[],
  answered: (error: unknown, answer: Answer) => void,
) => { name?: string }

/** What a client with `pipeline: true` is told in `work` leaves as one packet; who reads it is woken once. */
function inOneGo<T>(client: PgClient, work: () => T): T {
  const { stream } = client.connection ?? {}
  stream?.cork?.()
  try {
    return work()
  } finally {
    stream?.uncork?.()
  }
}

/** As a pool does it: after an error the next statement gets another connection, unless it was about the data or a lock. */
const isBrokenBy = (error: unknown) => !/^2[23]|^55P03$/.test(sqlState(error) ?? '')

const names = new Map<string, string>()

export function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= namesMost) return known
  const name = `regrow_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  names.set(text, name)
  return name
}
