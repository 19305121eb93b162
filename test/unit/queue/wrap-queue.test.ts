// A decorator of a queue forwards what it does not change.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { MemoryQueue } from '../../../src/queue/memory.ts'
import { wrapQueue } from '../../../src/queue/wrap-queue.ts'

const hint = { job: 'a', key: '1', delayMs: 0, fresh: true }
const request = { jobs: [{ job: 'a', limit: 10 }], limit: 10, waitMs: 0 }

test('members that are not replaced work as before, with private state of a class', async () => {
  const queue = wrapQueue(new MemoryQueue(systemClock), {})
  await queue.push([hint])
  expect([queue.name, queue.shared]).toEqual(['memory', false])
  expect(await queue.inspection?.peek('a', ['1'])).toEqual(new Map([['1', { dueInMs: 0, fresh: true }]]))
  expect((await queue.pop(request)).hints).toEqual([{ job: 'a', key: '1', fresh: true }])
})

test('a replaced member is used in place of the original, and can call it', async () => {
  const real = new MemoryQueue(systemClock)
  const pushed: string[] = []
  const queue = wrapQueue(real, {
    push: async (hints, options) => {
      pushed.push(...hints.map(({ key }) => key))
      return real.push(hints, options)
    },
  })
  expect(await queue.push([hint])).toEqual({ added: 1, merged: 0, dropped: 0 })
  expect(pushed).toEqual(['1'])
})

test('a getter is read at each use, and undefined hides an optional member', () => {
  let shared = true
  const queue = wrapQueue(new MemoryQueue(systemClock), {
    get shared() {
      return shared
    },
    inspection: undefined,
  })
  expect([queue.shared, queue.inspection]).toEqual([true, undefined])
  shared = false
  expect(queue.shared).toBe(false)
})

test('a member that a later version of the port adds is forwarded', () => {
  const real = Object.assign(new MemoryQueue(systemClock), { later: () => 'forwarded' })
  const queue = wrapQueue(real, {}) as unknown as { later(): string }
  expect(queue.later()).toBe('forwarded')
})
