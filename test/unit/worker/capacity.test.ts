// Free places for handler calls.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { Slots } from '../../../src/worker/capacity.ts'

test('who waits for a slot is woken when one is free', async () => {
  const slots = new Slots(2)
  slots.take(2, 'a')
  let free = false
  const freed = slots
    .freed(() => slots.free > 0, {})
    .then(() => {
      free = true
    })
  await new Promise((resolve) => setImmediate(resolve))
  expect([free, slots.free]).toEqual([false, 0])
  slots.give(1, 'a')
  await freed
  expect([free, slots.free]).toEqual([true, 1])
})

test('more than all may be taken; nobody is woken before one is really free', async () => {
  const slots = new Slots(1)
  slots.take(3, 'a')
  let free = false
  const freed = slots
    .freed(() => slots.free > 0, {})
    .then(() => {
      free = true
    })
  slots.give(2, 'a')
  await new Promise((resolve) => setImmediate(resolve))
  expect(free).toBe(false)
  slots.give(1, 'a')
  await freed
})

test('an abort ends the wait', async () => {
  const slots = new Slots(1)
  slots.take(1, 'a')
  const stop = new AbortController()
  const freed = slots.freed(() => slots.free > 0, { signal: stop.signal })
  stop.abort()
  await freed
  await slots.freed(() => slots.free > 0, { signal: stop.signal })
  expect(slots.free).toBe(0)
})

test('a wait with a time limit ends with it', async () => {
  const slots = new Slots(1)
  slots.take(1, 'a')
  await slots.freed(() => slots.free > 0, { timeout: { clock: systemClock, ms: 1 } })
  expect(slots.free).toBe(0)
})

test('a job has no more room than its own limit, and no more than there are slots; the others have the rest', () => {
  const slots = new Slots(5, new Map([['few', 2]]))
  expect([slots.room('few'), slots.room('any')]).toEqual([2, 5])
  slots.take(2, 'few')
  expect([slots.room('few'), slots.room('any')]).toEqual([0, 3])
  slots.take(2, 'any')
  slots.give(2, 'few')
  slots.take(2, 'any')
  expect([slots.room('few'), slots.room('any')]).toEqual([1, 1])
  slots.give(4, 'any')
  expect([slots.room('few'), slots.room('any')]).toEqual([2, 5])
})

test('all slots may be taken for one call, whatever its limit', () => {
  const slots = new Slots(5, new Map([['few', 2]]))
  slots.take(5, 'few')
  expect([slots.free, slots.room('few'), slots.room('any')]).toEqual([0, 0, 0])
  slots.give(5, 'few')
  expect([slots.free, slots.room('few'), slots.room('any')]).toEqual([5, 2, 5])
})

test('who waits for room of a job is not woken by a slot that is not its own', async () => {
  const slots = new Slots(5, new Map([['few', 1]]))
  slots.take(1, 'few')
  slots.take(1, 'any')
  let woken = false
  const freed = slots
    .freed(() => slots.room('few') > 0, {})
    .then(() => {
      woken = true
    })
  slots.give(1, 'any')
  await new Promise((resolve) => setImmediate(resolve))
  expect(woken).toBe(false)
  slots.give(1, 'few')
  await freed
})
