// regrow/redis: hints in Redis 6.2 or newer, or Valkey; through `@redis/client`, `ioredis` or `iovalkey`.
import { withDeadline } from '../../base/deadline.ts'
import { RegrowError } from '../../base/errors.ts'
import { isOptions, kindOfValue, unknownOptions } from '../../base/suggest.ts'
import { boundMistakes, type QueueBounds } from '../../queue/hint.ts'
import type { QueueDriver } from '../driver.ts'
import type { RedisGiven } from './client.ts'
import { dialOf } from './client-adapters.ts'
import { RedisQueue } from './redis-queue.ts'

export type { IoRedisClient, NodeRedisClient, RedisGiven, RedisUrl } from './client.ts'

export interface RedisOptions extends Partial<QueueBounds> {
  /**
   * Begins every key. Each application, and each stage of it, has its own: hints of another store are refused.
   * 1 to 64 letters, digits and `_ . : -`. Defaults to `regrow`.
   */
  readonly namespace?: string
  /**
   * Over how many hash slots of a Redis Cluster the jobs are spread; the same in every process. One job lies in one slot.
   * Defaults to 1: everything in one slot, which is right for a single server.
   */
  readonly shards?: number
}

/**
 * The server is asked once at the start, so that a namespace of another store is refused then (F29); one that is away is no
 * error. One that is there answers at once; the time is for a machine that is busy starting.
 */
const askMs = 5_000

/**
 * A queue in Redis: an address, a function that returns one, or a client. Of a client only the settings are used, for
 * connections of our own; it is never closed. Nothing is opened before first use.
 */
export function redis(given: RedisGiven | undefined, options: RedisOptions = {}): QueueDriver {
  return {
    kind: 'queue',
    name: 'redis',
    mistakes: mistakesOf(options),
    async open({ clock, identity, onRepair }) {
      // For whoever opens it without an app, which would have said so before.
      const mistakes = mistakesOf(options)
      if (mistakes.length > 0)
        throw new RegrowError('bad_options', mistakes.join('\n'), 'Correct the options of redis().')
      const { namespace = 'regrow', shards = 1, ...bounds } = options
      const dial = await dialOf(given)
      const queue = new RedisQueue({ ...bounds, dial, clock, namespace, shards, owner: await identity(), onRepair })
      try {
        await withDeadline(clock, askMs, 'Redis', queue.count([]))
      } catch (error) {
        if (error instanceof RegrowError && error.code === 'queue_foreign') {
          await queue.close()
          throw error
        }
      }
      return queue
    },
  }
}

function mistakesOf(options: RedisOptions): string[] {
  if (!isOptions(options))
    return [`redis(): the options are ${kindOfValue(options)}; expected an object such as { namespace: 'shop' }`]
  const mistakes = unknownOptions(options, ['namespace', 'shards', 'maxHints', 'maxDelayed'], 'redis()')
  const { namespace = 'regrow', shards = 1 } = options
  if (typeof namespace !== 'string' || !/^[A-Za-z0-9_.:-]{1,64}$/.test(namespace))
    mistakes.push('redis(): `namespace` has to be 1 to 64 letters, digits and "_", ".", ":" or "-"')
  if (!Number.isInteger(shards) || shards < 1 || shards > 1_024)
    mistakes.push(`redis(): \`shards\` is ${String(shards)}; expected a whole number from 1 to 1,024`)
  return [...mistakes, ...boundMistakes(options, 'redis()')]
}
