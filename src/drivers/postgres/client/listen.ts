// A connection of our own for LISTEN: never one of a pool, which others use in between. Behind a pooler there is none: what it
// listens to would be heard in somebody else's session.
import type { Clock } from '../../../base/clock.ts'
import { withDeadline } from '../../../base/deadline.ts'
import type { Row } from '../../sql/client.ts'
import { channel, type Listen } from '../queue/notifier.ts'
import type { PgPool } from './client.ts'
import { isDirect } from './server-process.ts'

/** What is needed of a client of `pg` that is in no pool. */
export interface LoneClient {
  connect(): Promise<unknown>
  query(text: string, values?: unknown[]): Promise<{ rows: Row[] }>
  query(submittable: object): unknown
  end(): Promise<void>
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
  readonly processID?: number | null
  readonly connection?: { readonly stream?: { destroy?(): void }; sync?(): void }
}

/** A polite end takes a round trip; a connection that leads nowhere would never end. */
const endMs = 1_000

/** Makes a client, and listens on it; on another one each time it is called. */
export function listener(clock: Clock, make: () => LoneClient): Listen {
  return async ({ notified, ended }) => {
    const client = make()
    // Without a listener for its errors it would end the process when it breaks.
    client.on('error', ended)
    client.on('end', ended)
    client.on('notification', ({ payload }) => notified(payload ?? ''))
    const close = async () => {
      await withDeadline(clock, endMs, 'The end of LISTEN', client.end()).catch(() =>
        client.connection?.stream?.destroy?.(),
      )
    }
    try {
      await client.connect()
      if (!(await isDirect(client))) {
        await close()
        return undefined
      }
      await client.query(`listen ${channel}`)
    } catch (error) {
      await close()
      throw error
    }
    return {
      ping: () => ping(client),
      close,
    }
  }
}

/** Asks for nothing but an answer: that is no transaction, and costs the server less than the shortest statement. */
async function ping(client: LoneClient): Promise<void> {
  if (typeof client.connection?.sync !== 'function') return void (await client.query('select 1'))
  await new Promise<void>((resolve, reject) =>
    client.query({
      submit: (connection: { sync(): void }) => connection.sync(),
      handleReadyForQuery: () => resolve(),
      handleError: reject,
    }),
  )
}

/** Makes clients such as those of the user's pool, outside of it; null when it does not tell how it makes them. */
export function clientsBeside(pool: PgPool): (() => LoneClient) | null {
  const { Client, options } = pool as { Client?: unknown; options?: unknown }
  if (typeof Client !== 'function') return null
  const Made = Client as new (options: unknown) => LoneClient
  return () => new Made(options)
}
