// Redis as it is run: several applications on one server, a Sentinel that fails over, TLS.
import { readFileSync } from 'node:fs'
import { createClient, createSentinel } from '@redis/client'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { type RedisSentinel, startRedis, startRedisSentinel } from '../../scripts/services/index.mjs'
import { postgres } from '../../src/backends/postgres/index.ts'
import { redis } from '../../src/backends/redis/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { freshDatabase } from '../services/database.ts'
import { freshRedis } from '../services/redis.ts'
import { Scene } from './redis-scene.ts'

describe.concurrent('several applications on one Redis', () => {
  test('a second one in the namespace of the first is refused, and takes none of its hints', async () => {
    const { url, namespace } = freshRedis('one')
    const first = await Scene.open('redis_first', undefined, { queue: redis(url, { namespace }), every: '1h' })
    const database = await freshDatabase('redis_second')
    const second = regrow({ store: postgres(database.url), queue: redis(url, { namespace }) })
    try {
      await first.holding(40)
      const before = await first.hints()
      let started = 0
      const job = second.job('thing.make', {
        key: 'text',
        pending: sql`select 'key-' || n as id from generate_series(1, 100) n`,
        run: async () => {
          started++
        },
      })
      const refused = { code: 'queue_foreign', message: expect.stringContaining(namespace) }
      await expect(second.work().ready).rejects.toMatchObject(refused)
      await expect(job.enqueue('key-1')).rejects.toMatchObject(refused)
      expect([started, await first.hints()]).toEqual([0, before])
      first.letGo()
      await first.allDone()
    } finally {
      await second.close()
      await first.close()
      await database.drop()
    }
  })

  test('in namespaces of their own they share a server, and each does its own rows', async () => {
    const { url, namespace } = freshRedis('two')
    const open = (which: string) =>
      Scene.open(`redis_${which}`, undefined, {
        queue: redis(url, { namespace: `${namespace}-${which}` }),
        every: '1h',
      })
    const scenes = await Promise.all([open('a'), open('b')])
    try {
      await Promise.all(scenes.map((scene, i) => scene.holding(40 + 20 * i)))
      const counts = await Promise.all(scenes.map((scene) => scene.hints()))
      expect(counts).toEqual([36, 56])
      for (const scene of scenes) scene.letGo()
      for (const scene of scenes) await scene.allDone()
    } finally {
      await Promise.all(scenes.map((scene) => scene.close()))
    }
  })
})

const clients = {
  'node-redis': ({ port, name }: RedisSentinel) =>
    createSentinel({ name, sentinelRootNodes: [{ host: '127.0.0.1', port }] }),
  ioredis: ({ port, name }: RedisSentinel) => new Redis({ name, sentinels: [{ host: '127.0.0.1', port }] }),
}

describe.concurrent('Redis behind a Sentinel, and with TLS', () => {
  test.each(Object.entries(clients))(
    'the master is killed, the replica is promoted, and %s follows',
    async (which, connect) => {
      const master = await startRedis()
      const replica = await startRedis({ replicaOf: master })
      const sentinel = await startRedisSentinel({ master })
      const client = connect(sentinel)
      client.on('error', () => {})
      let scene: Scene | undefined
      try {
        scene = await Scene.open(`redis_sentinel_${which}`, undefined, { queue: redis(client) })
        const { ear } = scene
        await scene.holding(40)
        await master.kill9()
        // A client that waits for the failover itself drops what it was given meanwhile; one that does not is down.
        await ear.until(() => ear.of('queue.down').length + ear.of('hint.dropped').length > 0)
        await scene.insert(40)
        scene.letGo()
        await scene.allDone()
        await ear.until(() => ear.of('queue.up').length === ear.of('queue.down').length)
        await scene.usesQueue()
        expect(await replica.command('ROLE')).toEqual(['master', expect.any(Number), []])
        expect(Number(await replica.command('DBSIZE'))).toBeGreaterThan(0)
      } finally {
        await scene?.close()
        await ('disconnect' in client ? client.disconnect() : client.close())
        await Promise.all([master, replica, sentinel].map((server) => server.close()))
      }
    },
  )

  test('a worker over rediss:// whose client trusts the certificate', async () => {
    const server = await startRedis({ tls: true })
    const ca = readFileSync(server.caFile ?? '')
    const client = createClient({ url: server.url(), socket: { tls: true, ca } })
    client.on('error', () => {})
    let scene: Scene | undefined
    try {
      scene = await Scene.open('redis_tls', server, { queue: redis(client), every: '1h' })
      expect(Number(await server.command('DBSIZE'))).toBeGreaterThan(0)
    } finally {
      await scene?.close()
      client.destroy()
      await server.close()
    }
  })

  test('over rediss:// with a certificate that is not trusted: down, and told why; rows are done all the same', async () => {
    const server = await startRedis({ tls: true })
    const database = await freshDatabase('redis_untrusted')
    try {
      const scene = await Scene.begin(database, redis(server.url()))
      const { error } = await scene.ear.hears('queue.down')
      expect(String(error)).toMatch(/certificate/)
      await scene.insert(20)
      await scene.allDone()
      await scene.close()
    } finally {
      await server.close()
    }
  })
})
