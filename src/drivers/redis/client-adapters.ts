// Makes connections of one kind out of what the user gave: commands as arrays of text, replies as they come.
import { codeOf, messageOf, RegrowError } from '../../base/errors.ts'
import { kindOfValue } from '../../base/suggest.ts'
import type { IoRedisClient, NodeRedisClient, RedisGiven } from './client.ts'

/** A connection, or those to the nodes of a cluster. It is not repaired: a broken one is ended, and another one made. */
export interface Wire {
  connect(): Promise<unknown>
  /** `key` is one that the command names: in a cluster it decides who gets it. */
  send(key: string, args: string[]): Promise<unknown>
  /** False: it is broken, or was ended. */
  readonly usable: boolean
  /** Ends it at once; what was sent and not answered fails. */
  end(): void
}

/** Makes another connection; `connect` opens it. */
export type Dial = () => Wire

/** Longer than any server needs that is there. */
const connectMs = 2_000

/** How to reach the server; throws what is wrong with `given`. */
export async function dialOf(given: RedisGiven | undefined): Promise<Dial> {
  if (typeof given === 'object' && given !== null) return dialLike(given)
  const url = typeof given === 'function' ? await given() : given
  if (typeof url !== 'string' || url === '')
    throw new RegrowError(
      'no_url',
      `redis() was given ${url === '' ? 'an empty text' : kindOfValue(url)} as its address`,
      'Set REDIS_URL, or pass redis://host:port, a function that returns it, or a client of @redis/client, ioredis or iovalkey.',
    )
  // Not the text itself: it may hold a password.
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url))
    throw new RegrowError(
      'no_url',
      'redis() was given a text that is no address of a Redis server',
      'Expected is redis://user:password@host:port/database, or rediss:// for TLS.',
    )
  const { createClient } = await import('@redis/client').catch((cause: unknown) => {
    throw notLoaded(cause)
  })
  // A client is a class of its own, which takes 50 ms to make; its duplicates share it.
  const client = createClient({ url, ...nodeRedisOptions({}) } as object) as unknown as NodeRedis
  return () => nodeRedis(client.duplicate({}))
}

/** Loaders of TypeScript may fail on a package that is there (jiti/register on Node 20 does): who installs it again is no wiser. */
function notLoaded(cause: unknown): RegrowError {
  if (codeOf(cause) === 'ERR_MODULE_NOT_FOUND')
    return new RegrowError(
      'missing_package',
      'The package @redis/client is not installed',
      'npm install @redis/client',
      cause,
    )
  return new RegrowError(
    'missing_package',
    `The package @redis/client could not be loaded: ${messageOf(cause)}`,
    'Pass a client instead of an address: redis(createClient({ url })).',
    cause,
  )
}

function dialLike(given: NodeRedisClient | IoRedisClient): Dial {
  if ('call' in given && typeof given.status === 'string') return ioRedisDial(given as unknown as IoRedis)
  const client = given as unknown as NodeRedis
  if (typeof client.sendCommand !== 'function' || typeof client.duplicate !== 'function')
    throw new RegrowError(
      'no_url',
      'redis() was given an object that is no Redis client',
      'Pass an address, or a client of @redis/client (redis), ioredis or iovalkey.',
    )
  if ('getSlotRandomNode' in client)
    // Blocked connections go to one node each: the others need not be connected.
    return () => nodeRedis(client.duplicate({ ...plain, minimizeConnections: true }), cluster)
  if ('getSentinelNode' in client || 'getMasterNode' in client)
    return () => nodeRedis(client.duplicate(plain), sentinel)
  return () => nodeRedis(client.duplicate(nodeRedisOptions(client.options?.socket ?? {})))
}

interface NodeRedis {
  readonly options?: { readonly socket?: object }
  readonly isOpen?: boolean
  readonly isReady?: boolean
  connect(): Promise<unknown>
  sendCommand(...given: unknown[]): Promise<unknown>
  duplicate(overrides: object): NodeRedis
  on(event: 'error', listener: () => void): unknown
  destroy?(): unknown
  disconnect?(): unknown
}

/** Replies as text and numbers, keys as we name them, and no timer per command: `Line` watches over all of them. */
const plain = {
  RESP: 2 as const,
  commandOptions: { timeout: 0 },
  keyPrefix: undefined,
  // What a client may have asked for and RESP 2 cannot do: node-redis refuses the duplicate otherwise.
  clientSideCache: undefined,
  emitInvalidate: false,
  maintNotifications: 'disabled' as const,
}

const nodeRedisOptions = (socket: object) => ({
  ...plain,
  disableOfflineQueue: true,
  // A client repeats commands after a reconnect, and waits for one that never comes: we make another client instead.
  socket: { connectTimeout: connectMs, ...socket, reconnectStrategy: false as const },
})

type Sending = (client: NodeRedis) => Wire['send']
const single: Sending = (client) => (_key, args) => client.sendCommand(args)
const cluster: Sending = (client) => (key, args) => client.sendCommand(key, false, args)
const sentinel: Sending = (client) => (_key, args) => client.sendCommand(false, args)

function nodeRedis(client: NodeRedis, sending: Sending = single): Wire {
  // Without a listener the first error would end the process; each call tells its own.
  client.on('error', () => {})
  let ended = false
  return {
    connect: () => client.connect(),
    send: sending(client),
    get usable() {
      return !ended && (sending !== single || client.isReady === true)
    },
    end: () => {
      ended = true
      settled(() => (client.destroy ? client.destroy() : client.disconnect?.()))
    },
  }
}

interface IoRedis {
  readonly isCluster?: boolean
  readonly status: string
  connect(): Promise<unknown>
  call(...args: string[]): Promise<unknown>
  duplicate(...given: unknown[]): IoRedis
  disconnect(): void
  on(event: 'error', listener: () => void): unknown
  readonly options?: { readonly redisOptions?: object }
}

/** As above, in the words of ioredis; `disconnectTimeout`: a connection that is half-open is not waited for. */
const ioRedisOptions = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  retryStrategy: () => null,
  maxRetriesPerRequest: 0,
  connectTimeout: connectMs,
  disconnectTimeout: 50,
  keyPrefix: '',
  stringNumbers: false,
}

function ioRedisDial(given: IoRedis): Dial {
  if (!given.isCluster) return () => ioRedis(given.duplicate(ioRedisOptions))
  const { lazyConnect, enableOfflineQueue, keyPrefix, retryStrategy: clusterRetryStrategy } = ioRedisOptions
  const { retryStrategy: _, lazyConnect: __, enableOfflineQueue: ___, ...ofNodes } = ioRedisOptions
  const redisOptions = { ...given.options?.redisOptions, ...ofNodes }
  // A replica may be behind.
  const scaleReads = 'master'
  const ofCluster = { lazyConnect, enableOfflineQueue, keyPrefix, clusterRetryStrategy, redisOptions, scaleReads }
  return () => ioRedis(given.duplicate([], ofCluster))
}

function ioRedis(client: IoRedis): Wire {
  client.on('error', () => {})
  return {
    connect: () => client.connect(),
    send: (_key, args) => client.call(...args),
    get usable() {
      return client.status === 'ready'
    },
    end: () => settled(() => client.disconnect()),
  }
}

/** What ends may complain that it has ended. */
function settled(end: () => unknown): void {
  try {
    Promise.resolve(end()).catch(() => {})
  } catch {}
}
