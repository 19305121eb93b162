// The simulated queue agrees with every real one: random steps, shrunk to the shortest that differ.
// REGROW_SEED=n replays; REGROW_AGREEMENT=n takes n sequences in memory and a quarter of that on each server (200).
import { createCluster } from '@redis/client'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { postgres } from '../../../src/drivers/postgres/index.ts'
import { dialOf } from '../../../src/drivers/redis/client-adapters.ts'
import type { RedisGiven } from '../../../src/drivers/redis/index.ts'
import { Places } from '../../../src/drivers/redis/keys.ts'
import { RedisQueue } from '../../../src/drivers/redis/redis-queue.ts'
import { defaultBounds, type QueueBounds } from '../../../src/queue/hint.ts'
import { MemoryQueue } from '../../../src/queue/memory.ts'
import { startRedisCluster } from '../../../tools/services/index.ts'
import { migrated } from '../../conformance/postgres-subject.ts'
import { freshDatabase } from '../../services/database.ts'
import { freshRedis } from '../../services/redis.ts'
import { VirtualClock } from '../virtual-clock.ts'
import { agree, type QueueInTime, type Reached } from './queue-agreement.ts'
import { bounds, steps } from './queue-steps.ts'

const seed = Number(process.env.REGROW_SEED ?? Date.now() % 1_000_000_000)
const sequences = Number(process.env.REGROW_AGREEMENT ?? 200)
const closing: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

/** Makes a way to open the queue of a sequence: called once per queue, so that a server is started and ended once. */
type Subject = () => Promise<() => Promise<QueueInTime>>

const memoryQueue: Subject = async () => async () => {
  const clock = new VirtualClock()
  return { queue: new MemoryQueue(clock, bounds), clock }
}

/** With room to spare, pushes go the quick way. */
const postgresQueue =
  (bounds: QueueBounds): Subject =>
  async () => {
    const database = await freshDatabase('agreement')
    closing.push(() => database.drop())
    await migrated(database.url)
    const beside = new pg.Client({ connectionString: database.url })
    await beside.connect()
    closing.push(() => beside.end())
    await beside.query('create table virtual_time (at timestamptz not null)')
    await beside.query('insert into virtual_time values (now())')
    await beside.query(`create or replace function regrow.clock() returns timestamptz language sql volatile parallel safe
    as 'select at from public.virtual_time'`)
    const moved = async (now: number) => {
      await beside.query('update virtual_time set at = to_timestamp($1::float8 / 1000)', [1_767_225_600_000 + now])
    }
    const clock = new VirtualClock()
    const { store, defaultQueue } = await postgres(database.url, bounds).open({ clock, leaseMs: 15_000 })
    closing.push(() => store.close())
    return async () => {
      await moved(clock.now())
      const queue = defaultQueue()
      await queue.wipe()
      return { queue, clock, moved, keepsPlaces: true, bounds }
    }
  }

/** One server, or a cluster over whose slots the two jobs are spread. */
const redisQueue =
  (given: () => Promise<RedisGiven>, shards: number): Subject =>
  async () => {
    const dial = await dialOf(await given())
    const { namespace } = freshRedis('agreement')
    const clock = new VirtualClock()
    const beside = dial()
    await beside.connect()
    closing.push(async () => beside.end())
    const { slots } = new Places(namespace, shards)
    const moved = async (now: number) => {
      for (const { owner } of slots) await beside.send(owner, ['SET', `${owner}:time`, String(1_767_225_600_000 + now)])
    }
    // Under the same hash tag as the owner, which every script gets first.
    const clockLua = `local function clock() return tonumber(redis.call('GET', KEYS[1] .. ':time')) end`
    let queue: RedisQueue | undefined
    closing.push(async () => queue?.close())
    return async () => {
      await moved(clock.now())
      await queue?.close()
      queue = new RedisQueue({ dial, clock, namespace, shards, owner: 'the store', clockLua, ...bounds })
      await queue.wipe()
      return { queue, clock, moved, keepsPlaces: true }
    }
  }

const cluster = async () => {
  const servers = await startRedisCluster({ masters: 3 })
  closing.push(() => servers.close())
  return createCluster({ rootNodes: servers.urls.map((url) => ({ url })) })
}

test.each([
  ['in memory', memoryQueue, sequences],
  ['on Postgres', postgresQueue(bounds), Math.ceil(sequences / 4)],
  ['on Postgres with room', postgresQueue(defaultBounds), Math.ceil(sequences / 4)],
  ['on Redis', redisQueue(async () => freshRedis().url, 1), Math.ceil(sequences / 4)],
  ['on a Redis Cluster', redisQueue(cluster, 2), Math.ceil(sequences / 4)],
])(
  'a queue %s answers any sequence of steps as the simulated one does',
  async (name, subject, numRuns) => {
    console.log(`queue ${name}: ${numRuns} sequences, seed ${seed}`)
    const open = await subject()
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        await agree(await open(), sequence)
      }),
      // On a server shrinking takes long: what is shortest by then is shown.
      { seed, numRuns, interruptAfterTimeLimit: 20_000 + 500 * numRuns, markInterruptAsFailure: true },
    )
  },
  600_000,
)

test('steps reach what they are about', async () => {
  const open = await memoryQueue()
  const times = new Map<Reached, number>()
  for (const sequence of fc.sample(steps, { seed: 1, numRuns: 100 }))
    for (const what of await agree(await open(), sequence)) times.set(what, (times.get(what) ?? 0) + 1)
  const all: Reached[] = ['full', 'another epoch', 'made sooner', 'both lanes', 'no room for all', 'an old mark']
  for (const what of all) expect(times.get(what), `${what}, in sequences of 100`).toBeGreaterThan(20)
})
