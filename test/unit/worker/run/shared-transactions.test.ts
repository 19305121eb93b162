// How many effects share a transaction: more while they are quick, none for a while after a failure or a slow one.
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/clock.ts'
import { systemRandom } from '../../../../src/base/random.ts'
import type { SharedAnswers } from '../../../../src/store/ledger.ts'
import { Claims } from '../../../../src/worker/held-claims.ts'
import { type Effect, effectsOf } from '../../../../src/worker/run/shared-transactions.ts'

/** A store that takes so long for each statement, and fails where it is told to. */
function scene(each: () => number, fails: (keys: readonly string[]) => boolean = () => false) {
  const shared: string[][] = []
  const alone: string[] = []
  const add = effectsOf({
    clock: systemClock,
    claims: new Claims(systemRandom),
    ledger: {
      shared: {
        settle: async (_, rows): Promise<SharedAnswers> => {
          const keys = rows.map(({ key }) => key)
          shared.push(keys)
          await systemClock.gather()
          if (fails(keys)) throw new Error('one of them fails')
          return { answers: keys.map((key) => ({ rows: [{ key }] })), tookMs: each() * keys.length }
        },
      },
    },
  })
  const effect = (key: string) =>
    ({
      entry: { job: { name: 'a' }, key },
      statement: { text: '', values: [] },
      row: { key },
      maySend: () => true,
      alone: async () => {
        alone.push(key)
        return { rows: [{ key }] }
      },
    }) as unknown as Effect
  const all = (count: number, from = 0) =>
    Promise.all(Array.from({ length: count }, (_, n) => add?.(effect(String(from + n)))))
  return { shared, alone, all }
}

test('a store that cannot share is not asked', () => {
  expect(effectsOf({ clock: systemClock, claims: new Claims(systemRandom), ledger: {} })).toBeUndefined()
})

test('quick ones share more and more, a hundred at most; each gets its own answer', async () => {
  const { shared, alone, all } = scene(() => 0.1)
  const answers = await all(1_000)
  expect(answers.map((answer) => answer?.rows[0]?.key)).toEqual(Array.from({ length: 1_000 }, (_, n) => String(n)))
  const sizes = shared.map(({ length }) => length)
  expect([sizes[0], Math.max(...sizes)]).toEqual([2, 100])
  expect(shared.length).toBeLessThan(30)
  expect(alone.length).toBeLessThan(3)
})

test('in the order of their keys, so that those who write their own rows cannot deadlock (M30)', async () => {
  const { shared, all } = scene(() => 0.1)
  await all(300)
  for (const keys of shared) expect(keys).toEqual(keys.toSorted())
})

test('those that take two milliseconds share as many as fit into a moment', async () => {
  const { shared, all } = scene(() => 2)
  await all(400)
  expect(Math.max(...shared.map(({ length }) => length))).toBe(10)
})

test('slow ones go by themselves, and fifty later it is tried again', async () => {
  const { shared, alone, all } = scene(() => 6)
  await all(200)
  expect(shared.flat().length + alone.length).toBe(200)
  expect(Math.max(...shared.map(({ length }) => length))).toBe(2)
  expect(alone.length).toBeGreaterThan(180)
  expect(shared.length).toBeGreaterThan(2)
})

test('where one fails, each of them goes by itself, and so do the next fifty', async () => {
  const { shared, alone, all } = scene(
    () => 0.1,
    (keys) => keys.includes('5'),
  )
  await all(20)
  const failed = shared.find((keys) => keys.includes('5')) as string[]
  expect(alone).toEqual(expect.arrayContaining(failed))
  const before = shared.length
  await all(10, 100)
  expect(shared).toHaveLength(before)
  await all(100, 200)
  expect(shared.length).toBeGreaterThan(before)
})
