// A real Redis does not answer, answers late, or refuses, while the store is well: workers go on from the rows and come back to
// it by themselves. Each fault is told; every row is done once.
import { describe, expect, test } from 'vitest'
import { redis } from '../../src/drivers/redis/index.ts'
import { type RedisServer, redisCommand, startRedis } from '../../tools/services/index.ts'
import { startProxy, type TcpProxy } from '../services/proxy.ts'
import { onRedis, Scene } from './scene.ts'

/** The queue is away from `harm` to `mend`, with hints in it; rows come and are done meanwhile. */
async function awayAndBack(scene: Scene, harm: () => Promise<unknown>, mend: () => Promise<unknown>) {
  await scene.holding(24)
  await harm()
  await scene.hears('queue.down')
  await scene.insert(20)
  scene.letGo()
  await scene.allDone()
  await mend()
  await scene.hears('queue.up')
  await scene.usesQueue()
}

/** A scene behind a proxy in front of a server of its own. */
async function behindProxy(
  name: string,
  act: (scene: Scene, proxy: TcpProxy, server: RedisServer) => Promise<void>,
): Promise<void> {
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  let scene: Scene | undefined
  try {
    scene = await Scene.open(name, redis(`redis://127.0.0.1:${proxy.port}`))
    await act(scene, proxy, server)
  } finally {
    await scene?.close()
    await proxy.close()
    await server.close()
  }
}

describe.concurrent('Redis is not to be had', () => {
  test('DEBUG SLEEP: down while it sleeps, up when it wakes', () =>
    onRedis('redis_sleep', {}, async (scene, server) => {
      let awake: Promise<unknown> = Promise.resolve()
      const sleep = async () => {
        awake = server.command('DEBUG', 'SLEEP', 10)
      }
      await awayAndBack(scene, sleep, () => awake)
    }))

  test('connections that are reset: new ones, and nobody stands in', () =>
    behindProxy('redis_reset', async (scene, proxy) => {
      await scene.holding(24)
      for (let i = 0; i < 3; i++) {
        expect(proxy.reset()).toBeGreaterThan(0)
        await scene.enqueue(10)
        await scene.markMoved()
      }
      scene.letGo()
      await scene.allDone()
      expect(scene.ear.of('queue.lost')).toEqual([])
      await scene.usesQueue()
    }))

  test('connections that are refused for a while', () =>
    behindProxy('redis_refused', async (scene, proxy) => {
      const refuse = async () => {
        proxy.refuse()
        proxy.reset()
      }
      await awayAndBack(scene, refuse, async () => proxy.pass())
    }))

  test('half-open connections, which take every byte and answer nothing: given up, and made anew', () =>
    behindProxy('redis_half_open', async (scene, proxy) => {
      await awayAndBack(
        scene,
        async () => proxy.swallow(),
        async () => proxy.pass(),
      )
      expect(scene.ear.of('queue.down')[0]?.error).toMatchObject({ code: 'deadline' })
    }))

  test('a password that is no longer right: told as what it is, and tried again', () =>
    onRedis('redis_password', {}, async (scene, server) => {
      const withPassword = `redis://:changed@127.0.0.1:${server.port}`
      const change = async () => {
        await server.command('CONFIG', 'SET', 'requirepass', 'changed')
        await redisCommand(withPassword, 'CLIENT', 'KILL', 'TYPE', 'normal')
      }
      await awayAndBack(scene, change, async () => {
        await expect(scene.hints()).rejects.toMatchObject({ code: 'queue_password' })
        await redisCommand(withPassword, 'CONFIG', 'SET', 'requirepass', '')
      })
    }))

  test('READONLY, while it is made the replica of a server that is not there', () =>
    onRedis('redis_readonly', {}, async (scene, server) => {
      await awayAndBack(
        scene,
        () => server.command('REPLICAOF', '127.0.0.1', 1),
        async () => {
          await expect(scene.hints()).rejects.toThrow('READONLY')
          await server.command('REPLICAOF', 'NO', 'ONE')
        },
      )
    }))

  test('a replica is promoted that misses the last writes: its canary is behind, and everything runs once', async () => {
    const replicas: RedisServer[] = []
    try {
      await behindProxy('redis_promoted', async (scene, proxy, master) => {
        const replica = await startRedis({ replicaOf: master })
        replicas.push(replica)
        await scene.holding(24)
        await replica.command('REPLICAOF', 'NO', 'ONE')
        await scene.markMoved()
        await scene.enqueue(20)
        proxy.to(replica.port)
        proxy.reset()
        await scene.hears('queue.lost', { how: 'behind' })
        scene.letGo()
        await scene.allDone()
        await scene.usesQueue()
        expect(Number(await replica.command('DBSIZE'))).toBeGreaterThan(0)
      })
    } finally {
      await Promise.all(replicas.map((replica) => replica.close()))
    }
  })
})
