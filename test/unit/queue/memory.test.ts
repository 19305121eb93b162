// The bounds of the memory queue: over them a hint is dropped, never the work.
import { expect, test } from 'vitest'
import type { Hint } from '../../../src/queue/hint.ts'
import { MemoryQueue } from '../../../src/queue/memory.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const hint = (key: string, over: Partial<Hint> = {}): Hint => ({ job: 'a', key, delayMs: 0, fresh: false, ...over })
const many = (count: number, over: Partial<Hint> = {}, prefix = 'k') =>
  Array.from({ length: count }, (_, i) => hint(`${prefix}${i}`, over))
const all = (queue: MemoryQueue) => queue.pop({ jobs: [{ job: 'a', limit: 100 }], limit: 100, waitMs: 0 })

test('due hints are bounded per job and lane', async () => {
  const queue = new MemoryQueue(new VirtualClock(), { maxHints: 3 })
  expect(await queue.push(many(5))).toEqual({ added: 3, merged: 0, dropped: 2 })
  expect(await queue.push(many(5, { fresh: true }, 'f'))).toEqual({ added: 3, merged: 0, dropped: 2 })
  expect(await queue.push(many(5, { job: 'b' }))).toEqual({ added: 3, merged: 0, dropped: 2 })
})

test('delayed hints have a bound of their own', async () => {
  const queue = new MemoryQueue(new VirtualClock(), { maxHints: 1, maxDelayed: 2 })
  expect(await queue.push(many(3, { delayMs: 1_000 }))).toEqual({ added: 2, merged: 0, dropped: 1 })
  expect(await queue.push([hint('due')])).toEqual({ added: 1, merged: 0, dropped: 0 })
})

test('what is there already is merged, also in a full queue', async () => {
  const queue = new MemoryQueue(new VirtualClock(), { maxHints: 2 })
  await queue.push(many(2))
  expect(await queue.push(many(3))).toEqual({ added: 0, merged: 2, dropped: 1 })
})

test('a pop makes room', async () => {
  const queue = new MemoryQueue(new VirtualClock(), { maxHints: 2 })
  await queue.push(many(2))
  expect((await all(queue)).hints).toHaveLength(2)
  expect(await queue.push(many(3))).toEqual({ added: 2, merged: 0, dropped: 1 })
})

test('what a hint becomes by waiting is not dropped for it: delayed hints that come due are all popped', async () => {
  const clock = new VirtualClock()
  const queue = new MemoryQueue(clock, { maxHints: 1 })
  await queue.push(many(5, { delayMs: 100 }))
  await clock.pass(101)
  expect(await queue.count(['a'])).toEqual(new Map([['a', { due: 5, delayed: 0 }]]))
  expect((await all(queue)).hints).toHaveLength(5)
})
