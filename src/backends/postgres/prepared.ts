// Statements that are sent over and over, prepared once per connection: planning a take or a check costs three times what
// executing it does. Only on a connection that leads straight to its server process; behind a pooler names would belong to
// somebody else's session.
import { createHash } from 'node:crypto'
import { type Row, type SqlExecutor, sqlState } from '../../store/executor.ts'
import { type PgClient, type PgPool, quieten } from './client.ts'

/**
 * Plans are kept, so they must be right for a table that is empty now and large in a minute: by index, and not compiled.
 * The settings are the session's, and nobody else uses it.
 */
const settings = `select set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)`

/** 26000: no such statement; 42P05: there is one already; 0A000: its result has another shape since a migration. */
const unprepared = new Set(['26000', '42P05', '0A000'])
export const isUnprepared = (error: unknown): boolean => unprepared.has(sqlState(error) ?? '')

/** Texts that get a name, at most: a pending query that is another text each time would fill the server's memory. */
const namesMost = 500

/** Runs statements on connections of a pool of our own. All of them look for keys. */
export function prepared(pool: Pick<PgPool, 'connect'>): SqlExecutor {
  const direct = new WeakMap<PgClient, boolean>()
  return {
    async query(text, params = []) {
      const client = await pool.connect()
      quieten(client)
      let broken: Error | undefined
      try {
        if (!direct.has(client)) direct.set(client, await isReady(client))
        const name = direct.get(client) ? nameOf(text) : undefined
        if (name === undefined) return await client.query(text, [...params])
        return await client.query({ name, text, values: [...params] })
      } catch (error) {
        // As a pool does it: after an error the next statement gets another connection, unless it was about the data.
        if (!/^2[23]/.test(sqlState(error) ?? '')) broken = error as Error
        if (!isUnprepared(error)) throw error
      } finally {
        client.release?.(broken)
      }
      return this.query(text, params)
    },
  }
}

/** True where statements get names, and are planned for that. */
async function isReady(client: PgClient): Promise<boolean> {
  if (!(await isDirect(client))) return false
  await client.query(settings)
  return true
}

/** False behind a pooler: it answers the start-up with a process number of its own. */
export async function isDirect(client: {
  query(text: string): Promise<{ rows: Row[] }>
  readonly processID?: number | null
}): Promise<boolean> {
  const { rows } = await client.query('select pg_backend_pid() as pid')
  return client.processID !== undefined && Number(rows[0]?.pid) === client.processID
}

const straight = new WeakMap<PgClient, boolean>()

/** `isDirect`, asked once per connection. */
export async function isStraight(client: PgClient): Promise<boolean> {
  const known = straight.get(client) ?? (await isDirect(client))
  straight.set(client, known)
  return known
}

const names = new Map<string, string>()

export function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= namesMost) return known
  const name = `regrow_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  names.set(text, name)
  return name
}
