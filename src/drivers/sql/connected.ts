// What `pg` tells of a client or a pool that it answers nothing: a client that was never connected keeps statements for ever, one that has
// ended refuses them in words of its own. Both are refused here, before anybody waits.
import { RegrowError } from '../../base/errors.ts'

/** How clients and pools of `pg` tell of themselves. Missing in another client: it is taken as it is. */
interface Told {
  readonly _connecting?: unknown
  readonly _connected?: unknown
  readonly _connectionError?: unknown
  readonly _ending?: unknown
  readonly _ended?: unknown
  readonly _queryable?: unknown
  readonly ending?: unknown
  readonly ended?: unknown
}

/** Throws `not_connected` when statements on this client can have no answer; `what` names it for the error. */
export function assertConnected(client: object, what: string): void {
  const { _connecting, _connected, _connectionError, _ending, _ended, _queryable } = client as Told
  if (_ending === true || _ended === true || _connectionError === true || _queryable === false)
    throw notConnected(
      `${what} is a client of pg that has ended, or whose connection broke`,
      'A client never connects again: make a new one, or give regrow an address or a pg.Pool, which makes new connections.',
    )
  if (_connecting === false && _connected === false)
    throw notConnected(
      `${what} is a client of pg that was never connected`,
      'Call `await client.connect()` first, or give regrow an address or a pg.Pool.',
    )
}

/** Throws `not_connected` for a pool that gives no more connections. */
export function assertOpen(pool: object, what: string): void {
  const { ending, ended } = pool as Told
  if (ending === true || ended === true)
    throw notConnected(
      `${what} is a pool of pg that has ended`,
      'Call `await app.close()` before `await pool.end()`: regrow uses the pool until then, and does not end it.',
    )
}

const notConnected = (message: string, hint: string) => new RegrowError('not_connected', message, hint)
