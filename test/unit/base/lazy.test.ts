// A value is made on first use, and a failure is forgotten.
import { expect, test } from 'vitest'
import { once } from '../../../src/base/lazy.ts'

test('it is made once, however many ask at the same time', async () => {
  let made = 0
  const get = once(async () => ++made)
  expect(await Promise.all([get(), get(), get()])).toEqual([1, 1, 1])
  expect(await get()).toBe(1)
})

test('a failure reaches who asked, and the next one tries again', async () => {
  let tries = 0
  const get = once(async () => {
    if (++tries === 1) throw new Error('away')
    return tries
  })
  const [first, second] = await Promise.allSettled([get(), get()])
  expect([first.status, second.status]).toEqual(['rejected', 'rejected'])
  expect(await get()).toBe(2)
})

test('a peek makes nothing', async () => {
  let made = 0
  const get = once(async () => ++made)
  expect(await get.peek()).toBeUndefined()
  expect(made).toBe(0)
  await get()
  expect(await get.peek()).toBe(1)
})
