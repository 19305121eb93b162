// Redis as it is run: several applications on one server, a Sentinel that fails over, a cluster, TLS.
import { readFileSync } from 'node:fs'
import { createClient, createCluster, createSentinel } from '@redis/client'
import { Redis } from 'ioredis'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { regrow, sql } from '../../src/index.ts'
import {
  type RedisSentinel,
  type RedisServer,
  startRedis,
  startRedisCluster,
  startRedisSentinel,
} from '../../tools/services/index.ts'
import { freshDatabase } from '../services/database.ts'
import { startProxy } from '../services/proxy.ts'
import { freshRedis } from '../services/redis.ts'
import { Scene } from './scene.ts'

/** Why the queue was down, as it was told. */
const codes = (scene: Scene) => scene.ear.of('queue.down').map(({ error }) => (error as { code?: string }).code)

describe.concurrent('several applications on one Redis', () => {
  test('a second one in the namespace of the first is refused, and takes none of its hints', async () => {
    const { url, namespace } = freshRedis('one')
    const first = await Scene.open('redis_first', redis(url, { namespace }), { every: '1h' })
    const database = await freshDatabase('redis_second')
    const second = regrow({ store: postgres(database.url), queue: redis(url, { namespace }), log: false })
    try {
      await first.holding(24)
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

  test('one that did not reach Redis at its start is refused when it does: it works from its rows, by itself', async () => {
    const { url, namespace } = freshRedis('late')
    const proxy = await startProxy(Number(new URL(url).port))
    const first = await Scene.open('redis_early', redis(url, { namespace }), { every: '1h' })
    const throughProxy = redis(`redis://127.0.0.1:${proxy.port}`, { namespace })
    proxy.refuse()
    const second = await Scene.begin(await freshDatabase('redis_late'), throughProxy)
    try {
      await second.hears('queue.down')
      await first.holding(24)
      const before = await first.hints()
      proxy.pass()
      await second.insert(20)
      await second.allDone()
      await expect(second.hints()).rejects.toMatchObject({ code: 'queue_foreign' })
      // It was down before, for another reason: the new one is told, once.
      await second.ear.until(() => codes(second).includes('queue_foreign'))
      expect(codes(second).filter((code) => code === 'queue_foreign')).toHaveLength(1)
      expect([await first.hints(), second.ear.of('queue.up')]).toEqual([before, []])
      first.letGo()
      await first.allDone()
    } finally {
      await second.close()
      await first.close()
      await proxy.close()
    }
  })

  test('in namespaces of their own they share a server, and each does its own rows', async () => {
    const { url, namespace } = freshRedis('two')
    const open = (which: string) =>
      Scene.open(`redis_${which}`, redis(url, { namespace: `${namespace}-${which}` }), { every: '1h' })
    const scenes = await Promise.all([open('a'), open('b')])
    try {
      await Promise.all(scenes.map((scene, i) => scene.holding(16 + 8 * i)))
      const counts = await Promise.all(scenes.map((scene) => scene.hints()))
      // Four of each run; a sweep may hint one again that was just popped, and none of the other's.
      for (const [i, count] of counts.entries()) {
        expect(count).toBeGreaterThanOrEqual(12 + 8 * i)
        expect(count).toBeLessThanOrEqual(16 + 8 * i)
      }
      for (const scene of scenes) scene.letGo()
      for (const scene of scenes) await scene.allDone()
    } finally {
      await Promise.all(scenes.map((scene) => scene.close()))
    }
  })
})

test('two queues beside one store, each for jobs of its own, have a mark each: neither looks lost to the other', async () => {
  const { url, namespace } = freshRedis('beside')
  const database = await freshDatabase('redis_beside')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const apps = ['a', 'b'].map((name) => {
    const app = regrow({ store: postgres(database.url), queue: redis(url, { namespace: `${namespace}-${name}` }) })
    app.job(`thing.${name}`, { pending: sql`select 'x' as id where false`, run() {} })
    return app
  })
  const lost: string[] = []
  for (const app of apps) app.on('queue.lost', ({ queue }) => lost.push(queue))
  const workers = []
  try {
    // One after the other: the second makes no tables.
    for (const app of apps) {
      workers.push(app.work())
      await workers.at(-1)?.ready
    }
    const sequence = async () =>
      (await client.query('select count(*)::int as marks, min(sequence)::int as least from regrow.marks')).rows[0]
    const reaches = async (least: number) => {
      for (;;) {
        const found = await sequence()
        if (found.marks === 2 && found.least >= least) return found.least
        await client.query('select pg_sleep(0.05)')
      }
    }
    const begun = await reaches(1)
    const before = lost.length
    await reaches(begun + 2)
    expect(lost.slice(before)).toEqual([])
  } finally {
    for (const worker of workers) await worker.stop()
    for (const app of apps) await app.close()
    await client.end()
    await database.drop()
  }
})

/** A server that is promoted ends its connections. */
const roleOf = async (server: RedisServer) => ((await server.command('ROLE').catch(() => [])) as string[])[0]

const clients = {
  'node-redis': ({ port, name }: RedisSentinel) =>
    createSentinel({ name, sentinelRootNodes: [{ host: '127.0.0.1', port }] }),
  ioredis: ({ port, name }: RedisSentinel) => new Redis({ name, sentinels: [{ host: '127.0.0.1', port }] }),
}

describe.concurrent('Redis behind a Sentinel, in a cluster, and with TLS', () => {
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
        scene = await Scene.open(`redis_sentinel_${which}`, redis(client))
        const { ear } = scene
        await scene.holding(24)
        await master.kill9()
        // A client may wait for the failover itself, so that nobody else notices; or the queue is down meanwhile.
        while ((await roleOf(replica)) !== 'master') await scene.query(`select pg_sleep(0.05)`)
        await scene.insert(20)
        scene.letGo()
        await scene.allDone()
        await scene.until(() => ear.of('queue.up').length === ear.of('queue.down').length)
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

  test('a node of a cluster is killed and comes back empty: its slot is lost, and all of it is healed', async () => {
    const cluster = await startRedisCluster()
    const client = createCluster({ rootNodes: cluster.urls.map((url) => ({ url })) })
    client.on('error', () => {})
    let scene: Scene | undefined
    try {
      const jobs = ['thing.make', 'thing.ship', 'thing.bill', 'thing.mail']
      scene = await Scene.open('redis_cluster', redis(client, { shards: 3 }), { jobs, every: '1h' })
      await scene.holding(32)
      const [node] = await Promise.all(
        cluster.nodes.map(async (each) => ({ each, keys: Number(await each.command('DBSIZE')) })),
      ).then((all) => all.filter(({ keys }) => keys > 0))
      await node?.each.kill9()
      await scene.hears('queue.down')
      scene.letGo()
      await scene.allDone()
      await node?.each.start()
      await scene.hears('queue.up')
      await scene.hears('queue.lost', { how: 'missing' })
      await scene.usesQueue()
    } finally {
      await scene?.close()
      await cluster.close()
    }
  })

  test('a worker over rediss:// whose client trusts the certificate', async () => {
    const server = await startRedis({ tls: true })
    const ca = readFileSync(server.caFile ?? '')
    const client = createClient({ url: server.url(), socket: { tls: true, ca } })
    client.on('error', () => {})
    let scene: Scene | undefined
    try {
      scene = await Scene.open('redis_tls', redis(client), { every: '1h' })
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
      await scene.hears('queue.down')
      expect(String(scene.ear.of('queue.down')[0]?.error)).toMatch(/certificate/)
      await scene.insert(20)
      await scene.allDone()
      await scene.close()
    } finally {
      await server.close()
    }
  })
})
