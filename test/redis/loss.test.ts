// A real Redis loses hints in the ways that it can: all, some, back to an old copy, or for want of memory. Hints are in it when
// that happens. Every row is done once, the loss is told, and afterwards hints go through Redis again.
import { describe, expect, test } from 'vitest'
import type { QueueDriver } from '../../src/drivers/driver.ts'
import { dialOf } from '../../src/drivers/redis/client-adapters.ts'
import { RedisQueue } from '../../src/drivers/redis/redis-queue.ts'
import type { RedisServer } from '../../tools/services/index.ts'
import { seededRandom } from '../sim/seeded-random.ts'
import { onRedis, type Scene } from './scene.ts'

/** The fault hits a queue with hints in it, whose sweep is an hour away: what heals is what the loss itself sets off. */
async function lostAndHealed(scene: Scene, how: 'missing' | 'behind', harm: () => Promise<unknown>): Promise<void> {
  const { ear } = scene
  await scene.holding(24)
  await scene.markMoved()
  await harm()
  await scene.hears('queue.lost')
  await scene.hears('queue.healed')
  scene.letGo()
  await scene.allDone()
  expect(ear.of('queue.lost')).toMatchObject([{ queue: expect.stringMatching(/^redis/), how }])
  await scene.usesQueue()
}

const memoryUsed = async (server: RedisServer) =>
  Number(/used_memory:(\d+)/.exec(String(await server.command('INFO', 'memory')))?.[1])
const evicted = async (server: RedisServer) =>
  Number(/evicted_keys:(\d+)/.exec(String(await server.command('INFO', 'stats')))?.[1])

describe.concurrent('hints that are in Redis are lost', () => {
  test('FLUSHALL: declared within the canary interval, and everything runs once', () =>
    onRedis('redis_flush', { every: '1h' }, (scene, server) =>
      lostAndHealed(scene, 'missing', () => server.command('FLUSHALL')),
    ))

  test('a random 30 % of its keys deleted, three times: the sweep brings back what is missing', () => {
    const seed = Math.floor(Math.random() * 1_000_000)
    console.log(`redis-loss: seed ${seed}`)
    const random = seededRandom(seed)
    const jobs = ['thing.make', 'thing.ship', 'thing.bill', 'thing.mail', 'thing.drop']
    return onRedis('redis_partial', { jobs }, async (scene, server) => {
      for (let round = 1; round <= 3; round++) {
        await scene.holding(50)
        const keys = (await server.command('KEYS', '*')) as string[]
        const some = keys.filter(() => random.float() < 0.3)
        console.log(`redis-loss: ${some.length} of ${keys.length} keys deleted: ${some.join(' ')}`)
        if (some.length > 0) await server.command('DEL', ...some)
        scene.letGo()
        await scene.allDone()
      }
      await scene.usesQueue()
    })
  })

  test('SCRIPT FLUSH: nobody notices', () =>
    onRedis('redis_script', { every: '1h' }, async (scene, server) => {
      const { ear } = scene
      await scene.holding(24)
      for (let i = 0; i < 5; i++) {
        await server.command('SCRIPT', 'FLUSH')
        await scene.enqueue(10)
      }
      scene.letGo()
      await scene.allDone()
      expect(
        ['queue.down', 'queue.lost', 'hint.dropped', 'loop.failed'].filter((event) =>
          ear.told.some((told) => told.event === event),
        ),
      ).toEqual([])
      await scene.usesQueue()
    }))

  test('kill -9, and back empty: work goes on while it is away, and the loss is declared', () =>
    onRedis('redis_kill', { every: '1h' }, async (scene, server) => {
      await scene.holding(24)
      await server.kill9()
      scene.letGo()
      await scene.hears('queue.down')
      await scene.allDone()
      await server.start()
      await scene.hears('queue.up')
      await scene.hears('queue.lost', { how: 'missing' })
      await scene.hears('queue.healed')
      await scene.usesQueue()
    }))

  test('back from an old dump: its canary is behind, and its old hints start nothing', () =>
    onRedis('redis_dump', { every: '1h' }, async (scene, server) => {
      const { ear } = scene
      await scene.holding(24)
      await server.command('SAVE')
      scene.letGo()
      await scene.allDone()
      await scene.markMoved()
      await scene.holding(24)
      await server.kill9()
      await server.start()
      await scene.hears('queue.lost', { how: 'behind' })
      scene.letGo()
      await scene.allDone()
      expect(ear.of('hint.refused', { why: 'not_pending' }).length).toBeGreaterThan(0)
      await scene.usesQueue()
    }))

  test('maxmemory with noeviction: hints are dropped and told, rows are not, and with memory there are hints again', () =>
    onRedis('redis_full', { settings: { 'maxmemory-policy': 'noeviction' } }, async (scene, server) => {
      await scene.holding(24)
      await server.command('CONFIG', 'SET', 'maxmemory', 1)
      await scene.enqueue(20)
      await scene.hears('hint.dropped', { why: 'memory' })
      const before = scene.done()
      scene.letGo()
      await scene.until(() => scene.done() >= before + 24)
      await server.command('CONFIG', 'SET', 'maxmemory', 0)
      await scene.allDone()
      await scene.usesQueue()
    }))

  test('maxmemory with allkeys-lru: what is evicted without a word comes back', () =>
    onRedis('redis_evicting', { settings: { 'maxmemory-policy': 'allkeys-lru' } }, async (scene, server) => {
      await scene.holding(24)
      await server.command('CONFIG', 'SET', 'maxmemory', (await memoryUsed(server)) - 1)
      while ((await evicted(server)) === 0) await scene.enqueue(20)
      await server.command('CONFIG', 'SET', 'maxmemory', 0)
      scene.letGo()
      await scene.allDone()
      await scene.usesQueue()
    }))

  test('its clock jumps two seconds ahead, and back: what comes early is put back, and no retry is early', () =>
    onRedis('redis_clock', { queue: (url) => skewed(url), every: '1h' }, async (scene, server) => {
      const { ear } = scene
      scene.failsFirst = true
      await scene.enqueue(4)
      await scene.until(() => ear.of('job.settled', { state: 'retrying' }).length === 4)
      await scene.query(`create table retries as select key, retry_at from regrow.ledger`)
      await server.command('SET', skewKey, 2_000)
      await scene.until(() => ear.of('hint.refused', { why: 'not_due' }).length > 0)
      await server.command('SET', skewKey, 0)
      await scene.allDone()
      expect(
        await scene.query(`select count(*)::int as retries, count(*) filter (where at < retry_at)::int as early
          from retries join effects on id = key`),
      ).toEqual([{ retries: 4, early: 0 }])
    }))
})

const skewKey = '{regrow}:skew'

/** The queue on a server whose clock the test moves: what `skewKey` says is added to it. */
const skewed = (url: string): QueueDriver => ({
  kind: 'queue',
  name: 'redis',
  open: async ({ clock, identity }) => {
    const clockLua = `local function clock()
      local time = redis.call('TIME')
      return time[1] * 1000 + time[2] / 1000 + (tonumber(redis.call('GET', '${skewKey}')) or 0)
    end`
    const owner = await identity()
    return new RedisQueue({ dial: await dialOf(url), clock, namespace: 'regrow', shards: 1, owner, clockLua })
  },
})
