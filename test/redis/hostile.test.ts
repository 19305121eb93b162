// What somebody else writes into our keys of Redis: marks that no client can count, and values of another type. Whatever is there,
// the next sweep works, and one job's broken key costs that job alone.
import { describe, expect, test } from 'vitest'
import type { RedisServer } from '../../tools/services/index.ts'
import { onRedis, type Scene } from './scene.ts'

const key = (name: string) => `{regrow}:${name}`
/** In one step: a worker could write the key between the two commands. */
const replaceKey = (server: Pick<RedisServer, 'command'>, name: string, command: 'SET' | 'SADD' | 'RPUSH') =>
  server.command('EVAL', `redis.call('DEL', KEYS[1]) redis.call('${command}', KEYS[1], 'hostile')`, '1', name)

const storedEpoch = async (scene: Scene) =>
  Number((await scene.query<{ epoch: string }>(`select epoch from regrow.marks`))[0]?.epoch)

describe.concurrent('a hostile value in Redis', () => {
  test('a forged mark is a loss that heals, and so is a flush after it', () =>
    onRedis('redis_forged', { every: '1h' }, async (scene, server) => {
      const { ear } = scene
      const before = await storedEpoch(scene)
      const forged = [
        '9007199254740993 5',
        '9007199254740991 1',
        '1e300 0',
        '-4 2',
        `0${before} 7`,
        `${before + 9} 0`,
        'x',
      ]
      for (const [i, mark] of forged.entries()) {
        await scene.holding(24)
        await server.command('SET', key('mark'), mark)
        await scene.until(() => ear.of('queue.lost').length > 2 * i)
        await scene.until(() => ear.of('queue.healed').length > 2 * i)
        await server.command('FLUSHALL')
        await scene.until(() => ear.of('queue.lost').length > 2 * i + 1)
        await scene.until(() => ear.of('queue.healed').length > 2 * i + 1)
        expect(await scene.hints(), mark).toBeGreaterThan(0)
        scene.letGo()
        await scene.allDone()
      }
      expect(await storedEpoch(scene)).toBe(before + 2 * forged.length)
      await scene.usesQueue()
    }))

  test('a store that went on from a forged epoch counts from the beginning again', () =>
    onRedis('redis_poisoned', { every: '1h' }, async (scene, server) => {
      await scene.holding(24)
      await scene.query(`update regrow.marks set epoch = 9007199254740993`)
      await server.command('FLUSHALL')
      await scene.hears('queue.lost')
      await scene.hears('queue.healed')
      scene.letGo()
      await scene.allDone()
      expect(await storedEpoch(scene)).toBeLessThan(10)
      await scene.usesQueue()
    }))

  const jobs = ['thing.make', 'thing.ship']
  const broken = ['fresh', 'fresh-set', 'fresh-delayed', 'swept', 'swept-set', 'swept-delayed', 'wake']
  test('a key of one job with another type is named and deleted, and the other job goes on', () =>
    onRedis('redis_type', { every: '1h', jobs }, async (scene, server) => {
      const { ear } = scene
      for (const name of broken) {
        await scene.holding(24)
        const there = key(`${name}:thing.ship`)
        await replaceKey(server, there, name.endsWith('set') || name === 'wake' ? 'SET' : 'SADD')
        scene.letGo()
        await scene.allDone()
        expect(await scene.query(`select count(*)::int as claims from regrow.ledger`)).toEqual([{ claims: 0 }])
      }
      const repairs = ear.of('queue.repaired')
      const named = new Set(repairs.flatMap(({ keys }) => keys))
      for (const name of broken.filter((each) => each !== 'wake'))
        expect([...named]).toContain(key(`${name}:thing.ship`))
      expect(new Set(repairs.flatMap((repair) => repair.jobs))).toEqual(new Set(['thing.ship']))
      expect(ear.of('queue.down')).toEqual([])
      await scene.usesQueue()
    }))

  test('a key of all jobs with another type is named and deleted, and work goes on', () =>
    onRedis('redis_shared_type', { every: '1h', jobs }, async (scene, server) => {
      const { ear } = scene
      for (const name of ['mark', 'owner', 'jobs']) {
        await scene.holding(24)
        const there = key(name)
        await replaceKey(server, there, 'RPUSH')
        scene.letGo()
        await scene.allDone()
        await scene.enqueue(4)
        await scene.allDone()
        await scene.until(() => ear.of('queue.repaired').some(({ keys }) => keys.includes(there)))
      }
      expect(ear.of('queue.down')).toEqual([])
      await scene.usesQueue()
    }))
})
