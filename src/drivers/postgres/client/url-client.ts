// A client of `pg` whose address is asked for right before it connects, each time: passwords are rotated, tokens expire, and
// databases move while a process runs.
import type { Clock } from '../../../base/clock.ts'
import { withDeadline } from '../../../base/deadline.ts'
import { causeOf, codeOf, messageOf, RegrowError } from '../../../base/errors.ts'
import { redact } from '../../../base/redact.ts'
import { checkedAddress } from './address.ts'

/** The part of pg's Client that is used here. */
interface BaseClient {
  connect(callback: Connected): void
  end(callback?: () => void): unknown
  readonly connection: { readonly stream?: Stream }
}

interface Stream {
  readonly destroyed?: boolean
  once?(event: 'close', closed: () => void): unknown
}

type Connected = (error?: unknown, client?: unknown) => void

// biome-ignore lint/suspicious/noExplicitAny: a class that is extended has to take any arguments.
type ClientClass = new (...args: any[]) => BaseClient

/** Time that the function has for an answer: as long as a connection may take. */
const askMs = 10_000

/** `Client`, which asks `url` for its address when it connects. Everything else of its configuration stays. */
export function clientWithUrl<Class extends ClientClass>(
  Client: Class,
  url: () => string | Promise<string>,
  clock: Clock,
): Class {
  return class extends (Client as ClientClass) {
    readonly #config: object
    #ended = false

    constructor(config: object = {}) {
      super(config)
      this.#config = config
    }

    override connect(callback?: Connected): Promise<void> {
      const connecting = this.#located().then(
        () => new Promise<void>((resolve, reject) => super.connect((error) => (error ? reject(error) : resolve()))),
      )
      if (!callback) return connecting
      connecting.then(
        () => callback(null, this),
        (error) => callback(error),
      )
      return Promise.resolve()
    }

    override end(callback?: () => void): unknown {
      this.#ended = true
      return callback ? super.end(callback) : super.end()
    }

    /** Takes on the configuration of a client that is made with the address as it is now. */
    async #located(): Promise<void> {
      const { stream } = this.connection
      // A pool that gave up waiting has destroyed the stream.
      const closed = new Promise<never>((_, reject) => stream?.once?.('close', () => reject(closedEarly())))
      const asked = Promise.race([askedUrl(url), closed])
      const connectionString = await withDeadline(clock, askMs, 'The url function of postgres()', asked)
      if (this.#ended || stream?.destroyed) throw closedEarly()
      const { _events, _eventsCount, _maxListeners, ...own } = Object.getOwnPropertyDescriptors(
        new Client({ ...this.#config, connectionString }),
      ) as Record<string, PropertyDescriptor>
      Object.defineProperties(this, own)
    }
  } as unknown as Class
}

const closedEarly = () =>
  new RegrowError('closed', 'The connection was closed before its address was known', 'Connect again.')

async function askedUrl(url: () => unknown): Promise<string> {
  let answer: unknown
  try {
    answer = await url()
  } catch (error) {
    throw urlFailed(error)
  }
  return checkedAddress(answer)
}

function urlFailed(error: unknown): RegrowError {
  const cause = withoutSecrets(error)
  return new RegrowError(
    'url_failed',
    `The function that postgres() was given as its address threw: ${cause.message}`,
    'It is called for every new connection. Fix it, or make it return the last address that it knows.',
    cause,
  )
}

/** Text and code of an error of the user's function, and of its causes: the error itself may hold the address and its password. */
function withoutSecrets(error: unknown, depth = 0): Error {
  const [code, cause] = [codeOf(error), causeOf(error)]
  const inner = cause === undefined || depth > 3 ? undefined : { cause: withoutSecrets(cause, depth + 1) }
  const clean = Object.assign(new Error(redact(messageOf(error)), inner), code === undefined ? {} : { code })
  clean.stack = `Error: ${clean.message}`
  return clean
}
