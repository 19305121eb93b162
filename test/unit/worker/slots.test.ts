// Free places for handler calls.
import { expect, test } from 'vitest'
import { Slots } from '../../../src/worker/slots.ts'

const signal = new AbortController().signal

test('who waits for a slot is woken when one is free', async () => {
  const slots = new Slots(2)
  slots.take(2)
  let free = false
  const freed = slots.freed(signal).then(() => {
    free = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect([free, slots.free]).toEqual([false, 0])
  slots.give(1)
  await freed
  expect([free, slots.free]).toEqual([true, 1])
})

test('more than all may be taken; nobody is woken before one is really free', async () => {
  const slots = new Slots(1)
  slots.take(3)
  let free = false
  const freed = slots.freed(signal).then(() => {
    free = true
  })
  slots.give(2)
  await new Promise((resolve) => setImmediate(resolve))
  expect(free).toBe(false)
  slots.give(1)
  await freed
})

test('an abort ends the wait', async () => {
  const slots = new Slots(1)
  slots.take(1)
  const stop = new AbortController()
  const freed = slots.freed(stop.signal)
  stop.abort()
  await freed
  await slots.freed(stop.signal)
  expect(slots.free).toBe(0)
})
