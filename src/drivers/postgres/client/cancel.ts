// Ends a statement that takes too long: asks the server to cancel it, and drops the connection when that does not help.
import type { Clock } from '../../../base/clock.ts'
import { messageOf } from '../../../base/errors.ts'
import type { SqlExecutor } from '../../sql/client.ts'
import type { PgClient, PgPool } from './client.ts'
import { quieten } from './client.ts'
import { ownStatement } from './own-statement.ts'

/** How statements are cancelled: `own` runs the statement that asks for it, on another connection. */
export interface Canceller {
  readonly clock: Clock
  readonly own: SqlExecutor
}

/** A statement that is still there this long after the server was asked loses its connection. */
const politeMs = 1_000

/** Behind a pooler the process number is not the server's: then no process is found that runs this text, and nothing is cancelled. */
const cancelText = `select pg_cancel_backend(pid) from pg_stat_activity
  where pid = $1::int and datname = current_database() and state = 'active' and left(query, 500) = left($2::text, 500)`

/** Runs `work`, which sends `text` over `client`. When `signal` aborts, it fails like any statement that the server cancels. */
export async function cancellable<T>(
  { clock, own }: Canceller,
  client: PgClient,
  text: string,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (!signal) return work()
  let stopTimer = () => {}
  const cancel = () => {
    const stream = client.connection?.stream as { destroy?(): void } | undefined
    stopTimer = clock.after(politeMs, () => stream?.destroy?.())
    if (client.processID) own.query(cancelText, [client.processID, text]).catch(() => {})
  }
  signal.addEventListener('abort', cancel)
  try {
    return await work()
  } catch (error) {
    throw signal.aborted ? cancelled(error) : error
  } finally {
    stopTimer()
    signal.removeEventListener('abort', cancel)
  }
}

/** With the SQLSTATE of a cancelled statement, also when the connection had to be dropped. */
const cancelled = (cause: unknown) =>
  Object.assign(new Error(`regrow cancelled a statement that took too long: ${messageOf(cause)}`, { cause }), {
    code: '57014',
  })

/** Statements on clients of a pool that is not ours; a client whose statement was cancelled is not used again. */
export function cancellableExecutor(pool: Pick<PgPool, 'connect'>, canceller: Canceller): CancellableExecutor {
  return {
    async query(text, params = [], signal) {
      const client = await pool.connect()
      quieten(client)
      let broken = true
      try {
        const answer = await cancellable(canceller, client, text, signal, () => ownStatement(client, text, params))
        broken = false
        return answer
      } finally {
        client.release?.(signal?.aborted || broken)
      }
    },
  }
}

/** Runs one statement, which ends when `signal` aborts. */
export interface CancellableExecutor {
  query(
    text: string,
    params?: Parameters<SqlExecutor['query']>[1],
    signal?: AbortSignal,
  ): ReturnType<SqlExecutor['query']>
}
