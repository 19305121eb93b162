// The queue in a Redis Cluster of three masters keeps every rule of a queue, spread over several slots; in one slot, and
// through other clients, those rules in which the connection has a part.
import { createCluster } from '@redis/client'
import { Cluster } from 'ioredis'
import { Cluster as ValkeyCluster } from 'iovalkey'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type RedisGiven, redis } from '../../src/drivers/redis/index.ts'
import { queueSuite } from '../../src/testing/index.ts'
import { type RedisCluster, startRedisCluster } from '../../tools/services/index.ts'
import { declareCases } from './declare-cases.ts'
import { isOfConnections } from './redis-cases.ts'

let servers: RedisCluster
beforeAll(async () => {
  servers = await startRedisCluster({ masters: 3 })
}, 60_000)
afterAll(async () => {
  await servers.close()
})

const identity = async () => 'the store of the suite'
const cases = (namespace: string, shards: number, make: () => RedisGiven) => {
  let client: RedisGiven | undefined
  return queueSuite({
    open: (bounds, surroundings) => {
      client ??= make()
      return redis(client, { namespace, shards, ...bounds }).open({ ...surroundings, identity })
    },
  })
}

const nodeRedis = () => createCluster({ rootNodes: servers.urls.map((url) => ({ url })) })
/** A client of theirs connects by itself; only its settings are used. */
const settings = { lazyConnect: true }

describe('spread over three slots', () => {
  declareCases(cases('spread', 3, nodeRedis))
})

describe('in one slot', () => {
  declareCases(cases('one', 1, nodeRedis).filter(isOfConnections))
})

describe('through ioredis', () => {
  declareCases(cases('ioredis', 2, () => new Cluster(servers.urls, settings)).filter(isOfConnections))
})

describe('through iovalkey', () => {
  declareCases(cases('iovalkey', 2, () => new ValkeyCluster(servers.urls, settings)).filter(isOfConnections))
})

test('the address of one node, which has not the slot, is told as what it is', async () => {
  const asked = servers.urls.map(async (url) => {
    const queue = await redis(url, { namespace: 'alone' }).open({ clock: systemClock, identity })
    const told = await queue.count([]).then(
      () => 'served',
      (error: { code?: string }) => error.code,
    )
    await queue.close()
    return told
  })
  expect((await Promise.all(asked)).sort()).toEqual(['queue_cluster', 'queue_cluster', 'served'])
})
