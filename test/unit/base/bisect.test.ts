// One bad item is found without failing its batch.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bisect } from '../../../src/base/bisect.ts'

/** A statement over numbers that the negative ones break. */
const statement = async (items: readonly number[]) => {
  const bad = items.find((item) => item < 0)
  if (bad !== undefined) throw new Error(`bad ${bad}`)
  return [...items]
}

test('every good item is answered once, every bad one named with its own error', async () => {
  const items = fc.uniqueArray(fc.integer({ min: -100, max: 1_000 }), { minLength: 1, maxLength: 64 })
  await fc.assert(
    fc.asyncProperty(items, async (all) => {
      const { answers, broken } = await bisect(all, statement, () => true)
      expect(answers.flat()).toEqual(all.filter((item) => item >= 0))
      expect([...broken.keys()]).toEqual(all.filter((item) => item < 0))
      for (const [item, error] of broken) expect(error).toEqual(new Error(`bad ${item}`))
    }),
  )
})

test('one bad item in 128 costs 15 statements, not 128', async () => {
  let calls = 0
  const all = Array.from({ length: 128 }, (_, i) => (i === 77 ? -1 : i))
  const counting = (items: readonly number[]) => {
    calls++
    return statement(items)
  }
  await bisect(all, counting, () => true)
  expect(calls).toBe(15)
})

test('an error that no item causes is thrown at once', async () => {
  let calls = 0
  const work = async () => {
    calls++
    throw new Error('the server is away')
  }
  await expect(bisect([1, 2, 3, 4], work, () => false)).rejects.toThrow('the server is away')
  expect(calls).toBe(1)
})
