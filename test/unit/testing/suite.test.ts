// The suites themselves: a skip has a reason and names a real case, names are unique, and a hang is told as such.
import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { memory } from '../../../src/drivers/memory/index.ts'
import { queueCases, queueSuite, storeCases } from '../../../src/testing/index.ts'
import { Seeded } from '../../../src/testing/seeded.ts'
import { bindCases, within } from '../../../src/testing/suite.ts'

const open: Parameters<typeof queueSuite>[0]['open'] = (bounds, around) => memory(bounds).open(around)

test('a skip that names no case is an error that lists the cases', () => {
  const skip = [{ case: 'closing thrice is harmless', reason: 'it is not' }]
  expect(() => queueSuite({ open, skip })).toThrow(/closing thrice.*closing twice is harmless/s)
})

test('a skip without a reason is an error', () => {
  const skip = [{ case: 'closing twice is harmless', reason: ' ' }]
  expect(() => queueSuite({ open, skip })).toThrow(/without a reason/)
})

test('a skipped case carries its reason, the others none', () => {
  const skip = [{ case: 'closing twice is harmless', reason: 'there is nothing to close' }]
  const skipped = queueSuite({ open, skip }).filter((each) => each.skip !== undefined)
  expect(skipped.map(({ name, skip: why }) => [name, why])).toEqual([
    ['closing twice is harmless', 'there is nothing to close'],
  ])
})

test('no two cases have the same name', () => {
  for (const cases of [queueCases, storeCases]) expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
})

test('a case that throws fails, and what it opened is closed all the same', async () => {
  const told: string[] = []
  const surround = async (run: (context: string[]) => Promise<void>) => {
    try {
      await run(told)
    } finally {
      told.push('closed')
    }
  }
  const broken = { name: 'broken', run: async () => Promise.reject(new Error('a rule is broken')) }
  const [each] = bindCases<string[]>([broken], [], surround)
  await expect(each?.run()).rejects.toThrow('a rule is broken')
  expect(told).toEqual(['closed'])
})

test('what hangs is told by name, and so is what held the thread for too long', async () => {
  await expect(within(systemClock, 5, 'The pop', new Promise(() => {}))).rejects.toThrow(
    /The pop: expected within 5 ms/,
  )
  let now = 0
  const blocked: Clock = { ...systemClock, now: () => now }
  const work = Promise.resolve().then(() => {
    now = 60_000
  })
  await expect(within(blocked, 1_000, 'The close', work)).rejects.toThrow(/The close/)
  await expect(within(systemClock, 1_000, 'The push', Promise.resolve('done'))).resolves.toBe('done')
})

test('the same seed makes the same choices, and a shuffle keeps every item', () => {
  const draw = () => {
    const random = new Seeded(42)
    return [random.below(1_000), random.pick(['a', 'b', 'c']), ...random.shuffled([1, 2, 3, 4, 5])]
  }
  expect(draw()).toEqual(draw())
  expect(new Seeded(7).shuffled([1, 2, 3, 4, 5]).sort()).toEqual([1, 2, 3, 4, 5])
  const random = new Seeded(1)
  const drawn = new Set(Array.from({ length: 100 }, () => random.below(4)))
  expect([...drawn].sort()).toEqual([0, 1, 2, 3])
})
