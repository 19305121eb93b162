// The server process behind a connection, and what the server says of such processes. A pooler answers with processes of its own:
// behind one there is nothing to know.
import type { Row } from '../../sql/client.ts'

/** A process of the server. Its number alone may belong to another one after a failover. */
export interface ServerProcess {
  readonly pid: number
  /** Null where this role may not see it: then two processes of one number cannot be told apart. */
  readonly startedAt: string | null
}

/** The part of a client of `pg` that is used here. */
interface Asking {
  query(text: string, values?: unknown[]): Promise<{ rows: Row[] }>
  readonly processID?: number | null
}

interface Session {
  /** Null behind a pooler. */
  readonly process: ServerProcess | null
  readonly readCommitted: boolean
}

const known = new WeakMap<object, Session>()

/** Asked once per connection. */
async function sessionOf(client: Asking): Promise<Session> {
  const found = known.get(client)
  if (found) return found
  const { rows } = await client.query(
    `select pid, extract(epoch from backend_start)::text as started_at,
       current_setting('default_transaction_isolation') as isolation
     from pg_stat_get_activity(pg_backend_pid())`,
  )
  const pid = Number(rows[0]?.pid)
  // A pooler has answered the start-up with a process number of its own.
  const process = pid === client.processID ? { pid, startedAt: (rows[0]?.started_at ?? null) as string | null } : null
  const session = { process, readCommitted: rows[0]?.isolation === 'read committed' }
  known.set(client, session)
  return session
}

/** The process that a connection leads to; null behind a pooler. */
export const processOf = async (client: Asking): Promise<ServerProcess | null> => (await sessionOf(client)).process

/** True when a statement without a transaction is READ COMMITTED on this connection. */
export const isReadCommitted = async (client: Asking): Promise<boolean> => (await sessionOf(client)).readCommitted

/** The process of a connection, where it was asked for and can be told from every other one. */
export function knownProcess(client: object): ServerProcess | null {
  const process = known.get(client)?.process
  return process && process.startedAt !== null ? process : null
}

/** False behind a pooler. */
export const isDirect = async (client: Asking): Promise<boolean> => (await processOf(client)) !== null

/** What the server knows of a process: it is idle when it has waited for a statement for that long. */
export type Seen = 'gone' | 'idle' | 'busy'

/** What has become of these processes; null: a replica cannot tell. */
export async function lookAt(
  client: Asking,
  processes: readonly ServerProcess[],
  idleMs: number,
): Promise<Seen[] | null> {
  const { rows } = await client.query(
    `select s.replica, a.pid, extract(epoch from a.backend_start)::text as started_at,
       a.state like 'idle%' and a.state_change < clock_timestamp() - $2::text::float8 * interval '1 ms' as idle
     from (select pg_is_in_recovery() as replica) s left join pg_stat_activity a on a.pid = any($1::text::int[])`,
    [pidsOf(processes), String(idleMs)],
  )
  if (rows[0]?.replica !== false) return null
  return processes.map(({ pid, startedAt }) => {
    const row = rows.find((each) => each.pid === pid && each.started_at === startedAt)
    return !row ? 'gone' : row.idle === true ? 'idle' : 'busy'
  })
}

/** Ends processes whose connection was closed: what they hold locked would keep the next try of the same work waiting. */
export async function endProcesses(client: Asking, processes: readonly ServerProcess[]): Promise<void> {
  await client.query(
    `select pg_terminate_backend(a.pid) from pg_stat_activity a join jsonb_to_recordset($1::text::jsonb)
       as p (pid int, "startedAt" text) on a.pid = p.pid and extract(epoch from a.backend_start)::text = p."startedAt"`,
    [JSON.stringify(processes)],
  )
}

const pidsOf = (processes: readonly ServerProcess[]) => `{${processes.map(({ pid }) => pid).join(',')}}`
