// Each client library serves the queue: those rules of a queue in which the connection has a part, on one server.
import { createClient } from '@redis/client'
import { Redis } from 'ioredis'
import { Redis as Valkey } from 'iovalkey'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type RedisGiven, redis } from '../../src/drivers/redis/index.ts'
import { queueSuite } from '../../src/testing/index.ts'
import { freshRedis } from '../services/redis.ts'
import { declareCases } from './declare-cases.ts'
import { isOfConnections } from './redis-cases.ts'

const { url, namespace } = freshRedis('clients')
const identity = async () => 'the store of the suite'

/** Settings that would break the queue if it used them: replies of another kind, other keys. */
const clients: [string, () => RedisGiven][] = [
  ['node-redis', () => createClient({ url, keyPrefix: 'theirs:', commandOptions: { typeMapping: { 36: Buffer } } })],
  ['ioredis', () => new Redis(url, { lazyConnect: true, keyPrefix: 'theirs:', stringNumbers: true })],
  ['iovalkey', () => new Valkey(url, { lazyConnect: true, keyPrefix: 'theirs:' })],
]

describe.each(clients)('a client of %s', (name, client) => {
  declareCases(
    queueSuite({
      open: (bounds, surroundings) =>
        redis(client(), { namespace: `${namespace}-${name}`, ...bounds }).open({ ...surroundings, identity }),
    }).filter(isOfConnections),
  )

  test('is not connected by the queue, and one that is stays so when the queue closes', async () => {
    const [unused, used] = [client(), client()] as { connect(): Promise<unknown>; isOpen?: boolean; status?: string }[]
    const isOpen = (it: typeof used) => it?.isOpen ?? it?.status === 'ready'
    await used?.connect()
    for (const given of [unused, used]) {
      const queue = await redis(given as RedisGiven, { namespace }).open({ clock: systemClock, identity })
      await queue.push([{ job: 'a', key: 'x', delayMs: 0, fresh: true }])
      await queue.close()
    }
    expect([isOpen(unused), isOpen(used)]).toEqual([false, true])
    await (used as unknown as { quit(): Promise<unknown> }).quit()
  })
})
