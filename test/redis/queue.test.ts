// The queue in Redis as one server shows it: waking without polling, keys that are lost one by one, a namespace per store.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type Dial, dialOf } from '../../src/drivers/redis/client-adapters.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { RedisQueue } from '../../src/drivers/redis/redis-queue.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { type RedisServer, startRedis } from '../../tools/services/index.ts'

// Of its own: tests look at who is blocked on it, and cut connections.
let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.close())

const opened: Queue[] = []
afterEach(async () => {
  for (const queue of opened.splice(0)) await queue.close()
})

const identity = async () => 'store one'
const hint = (key: string, { job = 'a', delayMs = 0, fresh = true } = {}) => ({ job, key, delayMs, fresh })
const hints = (count: number, how = {}, prefix = 'k') =>
  Array.from({ length: count }, (_, i) => hint(`${prefix}${i}`, how))
const pop = async (queue: Queue, limit = 1_000, job = 'a') =>
  (await queue.pop({ jobs: [{ job, limit }], limit, waitMs: 0 })).hints.map(({ key }) => key)
const waiting = (queue: Queue, { job = 'a', limit = 1, waitMs = 20_000 } = {}) =>
  queue.pop({ jobs: [{ job, limit }], limit, waitMs })

function place(namespace: string) {
  const url = server.url()
  return {
    url,
    namespace,
    key: (what: string) => `{${namespace}}:${what}`,
    ask: (...args: (string | number)[]) => server.command(...args),
    open: async (bounds = {}, who = identity) => {
      const queue = await redis(url, { namespace, ...bounds }).open({ clock: systemClock, identity: who })
      opened.push(queue)
      return queue
    },
  }
}

/** What a queue sends, by command. */
function counting(dial: Dial): { dial: Dial; sent: Map<string, number> } {
  const sent = new Map<string, number>()
  const counted: Dial = () => {
    const wire = dial()
    return {
      connect: () => wire.connect(),
      send: (key, args) => {
        sent.set(args[0] as string, (sent.get(args[0] as string) ?? 0) + 1)
        return wire.send(key, args)
      },
      get usable() {
        return wire.usable
      },
      end: () => wire.end(),
    }
  }
  return { dial: counted, sent }
}

async function elapsedMs(work: Promise<unknown>): Promise<number> {
  const since = systemClock.now()
  await work
  return systemClock.now() - since
}

/** Until a blocked read is there: a push before that would be found by the look itself. */
async function blocked(ask: (...args: string[]) => Promise<unknown>, count = 1): Promise<void> {
  const here = async () => String(await ask('CLIENT', 'LIST')).match(/ cmd=blpop /g)?.length ?? 0
  while ((await here()) < count) await systemClock.sleep(5)
}

test('an idle pop is woken by a push of another process, long before it would look again by itself', async () => {
  const { open, ask } = place('wake')
  const [idle, other] = [await open(), await open()]
  const popped = waiting(idle)
  await blocked(ask)
  const took = await elapsedMs(Promise.all([popped, other.push([hint('x')])]))
  expect((await popped).hints).toEqual([{ job: 'a', key: 'x', fresh: true }])
  expect(took).toBeLessThan(600)
})

test('a push wakes one idle process, and that one the next, as long as hints are left', async () => {
  const { open, ask } = place('chain')
  const idle = [await open(), await open(), await open()]
  const pops = Promise.all(idle.map((queue) => waiting(queue)))
  await blocked(ask, 3)
  const took = await elapsedMs(Promise.all([pops, (await open()).push(hints(3))]))
  expect((await pops).flatMap((popped) => popped.hints.map(({ key }) => key)).sort()).toEqual(['k0', 'k1', 'k2'])
  expect(took).toBeLessThan(700)
})

test('who waits for one job is not woken by pushes for another, and sends nothing meanwhile', async () => {
  const { url, namespace, open, ask } = place('quiet')
  const { dial, sent } = counting(await dialOf(url))
  const idle = new RedisQueue({ dial, clock: systemClock, namespace, shards: 1, owner: await identity() })
  opened.push(idle)
  const popped = waiting(idle, { job: 'b', waitMs: 600 })
  await blocked(ask)
  sent.clear()
  const other = await open()
  for (let n = 0; n < 20; n++) await other.push([hint(`x${n}`)])
  for (let n = 0; n < 5; n++) await idle.push([hint(`y${n}`)])
  await popped
  // The five pushes, the look at the end, and on a slow machine one of the poll floor; a wake by each push would be 25.
  expect(sent.get('EVALSHA') ?? 0).toBeLessThanOrEqual(8)
})

test('a push to a pop that waits in the same process is handed over: Redis has no part in it', async () => {
  const { url, namespace, ask } = place('hand-over')
  const { dial, sent } = counting(await dialOf(url))
  const queue = new RedisQueue({ dial, clock: systemClock, namespace, shards: 1, owner: await identity() })
  opened.push(queue)
  await queue.setMark({ epoch: 1, sequence: 2 })
  const popped = waiting(queue, { limit: 2 })
  await blocked(ask)
  sent.clear()
  expect(await queue.push(hints(2))).toEqual({ added: 2, merged: 0, dropped: 0 })
  // No mark: it was not looked at, and the pop after this one tells it.
  expect(await popped).toEqual({ hints: ['k0', 'k1'].map((key) => ({ job: 'a', key, fresh: true })), mark: undefined })
  expect([...sent.keys()].filter((command) => command !== 'BLPOP')).toEqual([])
  expect(await ask('KEYS', `{${namespace}}:*:a`)).toEqual([])
  const next = await queue.pop({ jobs: [{ job: 'a', limit: 1 }], limit: 1, waitMs: 0 })
  expect(next.mark).toEqual({ epoch: 1, sequence: 2 })
})

test('a pop that is told to end, and gets hints at the same moment, answers them', async () => {
  const { open, ask } = place('gone')
  const queue = await open()
  const stop = new AbortController()
  const popped = queue.pop({ jobs: [{ job: 'a', limit: 1 }], limit: 1, waitMs: 20_000 }, stop.signal)
  await blocked(ask)
  const pushing = queue.push([hint('x')])
  stop.abort()
  expect((await popped).hints).toEqual([{ job: 'a', key: 'x', fresh: true }])
  expect(await pushing).toEqual({ added: 1, merged: 0, dropped: 0 })
  // Nobody waits any more: the next one is in Redis.
  await queue.push([hint('y')])
  expect(await pop(queue)).toEqual(['y'])
})

test('what a pop that waits in the same process has no room for goes to Redis; so do swept and delayed hints', async () => {
  const { open, ask } = place('beside')
  const queue = await open({ maxHints: 3 })
  await queue.push([hint('x', { delayMs: 60_000, fresh: false })])
  const first = waiting(queue)
  await blocked(ask)
  // The one that is there stays: what it is worth, its check tells.
  expect(await queue.push([hint('x')])).toEqual({ added: 1, merged: 0, dropped: 0 })
  expect((await first).hints).toEqual([{ job: 'a', key: 'x', fresh: true }])
  expect((await queue.count(['a'])).get('a')).toEqual({ due: 0, delayed: 1 })
  const few = waiting(queue)
  await blocked(ask)
  expect(await queue.push(hints(5))).toEqual({ added: 3, merged: 0, dropped: 2 })
  expect((await few).hints).toHaveLength(1)
  expect((await queue.count(['a'])).get('a')).toEqual({ due: 2, delayed: 1 })
  const swept = waiting(queue, { job: 'b' })
  await blocked(ask)
  expect(await queue.push([hint('s', { job: 'b', fresh: false })])).toEqual({ added: 1, merged: 0, dropped: 0 })
  expect(await swept).toMatchObject({ hints: [{ job: 'b', key: 's', fresh: false }], mark: null })
  const later = waiting(queue, { job: 'b', waitMs: 600 })
  await blocked(ask)
  await queue.push([hint('l', { job: 'b', delayMs: 60_000 })])
  expect((await later).hints).toEqual([])
  expect((await queue.count(['b'])).get('b')).toEqual({ due: 0, delayed: 1 })
})

test('a process that is blocked for one job and asked for another one listens to both', async () => {
  const { open, ask } = place('both')
  const [idle, other] = [await open(), await open()]
  const stop = new AbortController()
  const first = idle.pop({ jobs: [{ job: 'a', limit: 1 }], limit: 1, waitMs: 20_000 }, stop.signal)
  await blocked(ask)
  stop.abort()
  await first
  const second = waiting(idle, { job: 'b' })
  const took = await elapsedMs(Promise.all([second, other.push([hint('x', { job: 'b' })])]))
  expect((await second).hints).toHaveLength(1)
  expect(took).toBeLessThan(600)
})

test('a token that reaches a process which no longer waits is passed on', async () => {
  const { open, ask } = place('pass')
  const [left, idle, other] = [await open(), await open(), await open()]
  const stop = new AbortController()
  const gone = left.pop({ jobs: [{ job: 'a', limit: 1 }], limit: 1, waitMs: 20_000 }, stop.signal)
  await blocked(ask)
  const popped = waiting(idle)
  await blocked(ask, 2)
  stop.abort()
  await gone
  const took = await elapsedMs(Promise.all([popped, other.push([hint('x')])]))
  expect((await popped).hints).toHaveLength(1)
  expect(took).toBeLessThan(600)
})

test('a blocked connection that is cut is made anew, and wakes again (M23)', async () => {
  const { open, ask } = place('cut')
  const [idle, other] = [await open(), await open()]
  const popped = waiting(idle)
  await blocked(ask)
  const ids = [...String(await ask('CLIENT', 'LIST')).matchAll(/^id=(\d+) .* cmd=blpop /gm)].map((match) => match[1])
  for (const id of ids) await ask('CLIENT', 'KILL', 'ID', id as string)
  await blocked(ask)
  const took = await elapsedMs(Promise.all([popped, other.push([hint('x')])]))
  expect((await popped).hints).toHaveLength(1)
  expect(took).toBeLessThan(600)
})

test('after SCRIPT FLUSH every call does what it did (M22)', async () => {
  const { open, ask } = place('flush')
  const queue = await open()
  await queue.push([hint('x'), hint('y', { delayMs: 60_000 })])
  await ask('SCRIPT', 'FLUSH')
  expect(await queue.push([hint('z')])).toEqual({ added: 1, merged: 0, dropped: 0 })
  await ask('SCRIPT', 'FLUSH')
  expect(await pop(queue)).toEqual(['x', 'z'])
  await ask('SCRIPT', 'FLUSH')
  await queue.setMark({ epoch: 1, sequence: 1 })
  await ask('SCRIPT', 'FLUSH')
  expect(await queue.advanceMark({ epoch: 1, sequence: 1 })).toEqual({ epoch: 1, sequence: 1 })
  await ask('SCRIPT', 'FLUSH')
  expect((await queue.count(['a'])).get('a')).toEqual({ due: 0, delayed: 1 })
})

const kinds = ['fresh', 'fresh-set', 'fresh-delayed', 'swept', 'swept-set', 'swept-delayed', 'wake']

test.each(kinds)('when a server evicts %s alone, every hint can be pushed and popped again', async (kind) => {
  const { open, ask, key } = place(`evict-${kind}`)
  const queue = await open()
  const all = [
    ...hints(50, {}, 'fresh'),
    ...hints(50, { fresh: false }, 'swept'),
    ...hints(50, { delayMs: 60_000 }, 'later'),
    ...hints(50, { delayMs: 60_000, fresh: false }, 'swept-later'),
  ]
  await queue.push(all)
  expect(await ask('DEL', key(`${kind}:a`))).toBe(1)
  await queue.push(all)
  // Fresh pushes make every hint due: whatever was stuck would stay away.
  await queue.push(all.map((each) => ({ ...each, delayMs: 0, fresh: true })))
  const found = [...(await pop(queue)), ...(await pop(queue))]
  expect(found.sort()).toEqual(all.map((each) => each.key).sort())
  expect((await queue.count(['a'])).get('a')).toEqual({ due: 0, delayed: 0 })
})

test('entries of somebody else in a list come out as hints, each once, and nothing hangs', async () => {
  const { open, ask, key } = place('garbage')
  const queue = await open()
  await queue.push(hints(5))
  await ask('RPUSH', key('fresh:a'), 'garbage', 'k1', 'garbage')
  const found = [...(await pop(queue, 2)), ...(await pop(queue)), ...(await pop(queue))]
  for (const { key: each } of hints(5)) expect(found.filter((one) => one === each)).toHaveLength(1)
  expect((await queue.count(['a'])).get('a')).toEqual({ due: 0, delayed: 0 })
  expect(await queue.push(hints(5))).toEqual({ added: 5, merged: 0, dropped: 0 })
})

test('a key of another type is deleted by the next push or pop, which work as if it had been empty', async () => {
  const { open, ask, key } = place('types')
  const queue = await open()
  await queue.push(hints(5))
  await ask('DEL', key('fresh:a'))
  await ask('SET', key('fresh:a'), 'text')
  expect(await queue.inspection?.peek('a', ['k1'])).toEqual(new Map())
  expect((await queue.push([hint('x')])).added).toBe(1)
  await ask('DEL', key('fresh-set:a'))
  await ask('RPUSH', key('fresh-set:a'), 'text')
  expect((await queue.count(['a'])).get('a')).toEqual({ due: 0, delayed: 0 })
  expect(await pop(queue)).toEqual([])
  expect((await queue.push(hints(5))).added).toBe(5)
  expect(await pop(queue)).toHaveLength(5)
})

test('entries that fresh pushes leave behind in the swept list stay few', async () => {
  const { open, ask, key } = place('stale')
  const queue = await open()
  await queue.push(hints(2_000, { fresh: false }, 'stays'))
  for (let round = 0; round < 12; round++) {
    await queue.push(hints(1_000, { fresh: false }, `r${round}-`))
    await queue.push(hints(1_000, {}, `r${round}-`))
    expect(Number(await ask('LLEN', key('swept:a')))).toBeLessThanOrEqual(2 * 2_000 + 1_000 + 1_000)
  }
  const found: string[] = []
  for (let some = await pop(queue); some.length > 0; some = await pop(queue)) found.push(...some)
  expect(new Set(found).size).toBe(14_000)
  expect(found.filter((each) => each.startsWith('stays'))).toEqual(hints(2_000, {}, 'stays').map((each) => each.key))
  expect(await ask('EXISTS', key('swept:a'), key('swept-set:a'), key('fresh:a'), key('fresh-set:a'))).toBe(0)
})

test('a namespace that belongs to another store is refused at the start, and says what to do', async () => {
  const { open, ask, key, namespace } = place('foreign')
  await (await open()).push([hint('x')])
  const another = async () => 'store two'
  await expect(open({}, another)).rejects.toMatchObject({
    code: 'queue_foreign',
    message: expect.stringContaining(namespace),
    hint: expect.stringContaining(`{${namespace}}:owner`),
  })
  await ask('DEL', key('owner'))
  expect(await pop(await open({}, another))).toEqual(['x'])
})

test('a namespace that another store took meanwhile gives no hints, takes none, and each call says why', async () => {
  const { open, ask, key } = place('taken')
  const queue = await open()
  await ask('DEL', key('owner'))
  await (await open({}, async () => 'store two')).push([hint('theirs')])
  const calls = [
    () => queue.push([hint('x')]),
    () => queue.push([hint('x', { delayMs: 1_000 })]),
    () => pop(queue),
    () => queue.count([]),
    () => queue.advanceMark({ epoch: 1, sequence: 1 }),
    () => queue.setMark({ epoch: 1, sequence: 1 }),
    () => queue.wipe(),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'queue_foreign' })
  expect(await ask('LRANGE', key('fresh:a'), 0, -1)).toEqual(['theirs'])
})

test('hints cost few bytes: under 97 with short keys, under 158 with uuids', async () => {
  const { open, ask, key } = place('bytes')
  const queue = await open({ maxHints: 100_000 })
  const bytesEach = async (name: (i: number) => string) => {
    for (let page = 0; page < 20; page++)
      await queue.push(Array.from({ length: 1_000 }, (_, i) => hint(name(1_000 * page + i))))
    const used = await Promise.all(
      ['fresh:a', 'fresh-set:a'].map((what) => ask('MEMORY', 'USAGE', key(what), 'SAMPLES', 0)),
    )
    await queue.wipe()
    return used.reduce<number>((sum, bytes) => sum + Number(bytes), 0) / 20_000
  }
  expect(await bytesEach((i) => String(10_000_000 + i))).toBeLessThan(97)
  expect(await bytesEach((i) => `018f4b2e-7c3a-7d11-9b6e-${String(i).padStart(12, '0')}`)).toBeLessThan(158)
})
