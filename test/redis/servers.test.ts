// The queue in Redis on servers in a bad way: full, away, silent. The calls of the driver itself; what an app makes of them
// is in down.test.ts and loss.test.ts.
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { startRedis } from '../../tools/services/index.ts'

const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

const hints = (count: number, prefix: string, { delayMs = 0, fresh = true } = {}) =>
  Array.from({ length: count }, (_, i) => ({ job: 'a', key: `${prefix}${i}`, delayMs, fresh }))
const pop = async (queue: Queue, limit = 1_000) =>
  (await queue.pop({ jobs: [{ job: 'a', limit }], limit, waitMs: 0 })).hints

async function served(settings: Record<string, string | number> = {}) {
  const server = await startRedis({ settings })
  closing.push(() => server.close())
  const open = async () => {
    const queue = await redis(server.url()).open({ clock: systemClock, identity: async () => 'a store' })
    closing.push(() => queue.close())
    return queue
  }
  return { server, open }
}

async function elapsedMs(work: Promise<unknown>): Promise<number> {
  const since = systemClock.now()
  await work.catch(() => {})
  return systemClock.now() - since
}

test('a server without memory for more refuses pushes as such, whole ones, and is popped empty', async () => {
  const { server, open } = await served({ 'maxmemory-policy': 'noeviction' })
  const queue = await open()
  await queue.setMark({ epoch: 1, sequence: 1 })
  await queue.push(hints(1_500, 'soon', { delayMs: 300, fresh: false }))
  await queue.push(hints(2_000, 'k'))
  await server.command('CONFIG', 'SET', 'maxmemory', '1mb')
  for (const refused of [hints(1_000, 'more'), hints(1_000, 'late', { delayMs: 1_000 })])
    await expect(queue.push(refused)).rejects.toMatchObject({ code: 'queue_memory' })
  expect((await queue.count(['a'])).get('a')).toMatchObject({ due: expect.any(Number) })
  expect(await queue.advanceMark({ epoch: 1, sequence: 1 })).toEqual({ epoch: 1, sequence: 1 })
  const seen = new Set<string>()
  // Delayed hints come due, and move within the server, while it is full.
  while (seen.size < 3_500) {
    const popped = await queue.pop({ jobs: [{ job: 'a', limit: 500 }], limit: 500, waitMs: 2_000 })
    expect(popped.mark).toEqual({ epoch: 1, sequence: 2 })
    expect(popped.hints).not.toEqual([])
    for (const { key } of popped.hints) seen.add(key)
  }
  await server.command('CONFIG', 'SET', 'maxmemory', '0')
  expect((await queue.push(hints(1_000, 'more'))).added).toBe(1_000)
})

test('a server that is away when the queue is opened is no error; calls fail at once until it is there', async () => {
  const { server, open } = await served()
  await server.stop()
  const queue = await open()
  await expect(queue.push(hints(1, 'x'))).rejects.toThrow('ECONNREFUSED')
  expect(await elapsedMs(Promise.all(Array.from({ length: 100 }, () => queue.push(hints(1, 'x')))))).toBeLessThan(1_000)
  await server.start()
  while ((await queue.count([]).catch(() => undefined)) === undefined) await systemClock.sleep(20)
  expect((await queue.push(hints(1, 'x'))).added).toBe(1)
  expect(await pop(queue)).toHaveLength(1)
})

test('a pop that waits ends with an error when the server goes, and the next ones wait again when it is back', async () => {
  const { server, open } = await served()
  const queue = await open()
  const ended = expect(queue.pop({ jobs: [{ job: 'a', limit: 1 }], limit: 1, waitMs: 20_000 })).rejects.toThrow()
  await server.kill9()
  await ended
  await server.start()
  const another = await open()
  while ((await queue.count([]).catch(() => undefined)) === undefined) await systemClock.sleep(20)
  const again = queue.pop({ jobs: [{ job: 'a', limit: 1 }], limit: 1, waitMs: 20_000 })
  await another.push(hints(1, 'x'))
  expect((await again).hints).toHaveLength(1)
})

test('calls to a server that falls silent end by themselves, and new connections serve the next ones', async () => {
  const { server, open } = await served()
  const queue = await open()
  const waiting = queue.pop({ jobs: [{ job: 'a', limit: 1 }], limit: 1, waitMs: 20_000 })
  const outcome = waiting.then(
    () => 'answered',
    () => 'failed',
  )
  await server.pause()
  expect(await elapsedMs(queue.push(hints(1, 'x')))).toBeLessThan(4_500)
  expect(await outcome).toBe('failed')
  await server.resume()
  while ((await queue.count([]).catch(() => undefined)) === undefined) await systemClock.sleep(20)
  await queue.push(hints(1, 'y'))
  expect((await pop(queue)).map(({ key }) => key)).toContain('y0')
})
