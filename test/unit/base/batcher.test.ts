// Single items travel in batches: while one is away, the next one fills.
import { expect, test } from 'vitest'
import { Batcher } from '../../../src/base/batcher.ts'
import { systemClock } from '../../../src/base/clock.ts'

test('what comes up together goes together, in order, each with its own answer', async () => {
  const sent: number[][] = []
  const batcher = new Batcher<number, string>(systemClock, 100, async (items) => {
    sent.push([...items])
    return items.map((item) => `<${item}>`)
  })
  expect(await Promise.all([batcher.add([1]), batcher.add([2, 3])])).toEqual([['<1>'], ['<2>', '<3>']])
  expect(sent).toEqual([[1, 2, 3]])
})

test('a batch holds no more than its size, and one is away at a time', async () => {
  const sent: number[][] = []
  let away = 0
  let most = 0
  const batcher = new Batcher<number, number>(systemClock, 2, async (items) => {
    most = Math.max(most, ++away)
    sent.push([...items])
    await systemClock.gather()
    away--
    return items
  })
  await Promise.all([1, 2, 3, 4, 5].map((item) => batcher.add([item])))
  expect(sent).toEqual([[1, 2], [3, 4], [5]])
  expect(most).toBe(1)
})

test('what comes while a batch is away goes with the next one', async () => {
  const sent: number[][] = []
  const later: Promise<readonly number[]>[] = []
  const batcher: Batcher<number, number> = new Batcher(systemClock, 100, async (items) => {
    sent.push([...items])
    if (sent.length === 1) later.push(batcher.add([2]), batcher.add([3]))
    await systemClock.gather()
    return items
  })
  await batcher.add([1])
  expect(await Promise.all(later)).toEqual([[2], [3]])
  expect(sent).toEqual([[1], [2, 3]])
})

test('a batch that fails rejects each of its items and no other', async () => {
  const batcher = new Batcher<number, number>(systemClock, 2, async (items) => {
    if (items.includes(2)) throw new Error('the store is away')
    return items
  })
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map((item) => batcher.add([item])))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
  expect(await batcher.add([5])).toEqual([5])
})

test('what was added together is not parted: too much for a batch goes alone', async () => {
  const sent: number[][] = []
  const batcher = new Batcher<number, number>(systemClock, 3, async (items) => {
    sent.push([...items])
    return items
  })
  await Promise.all([[1, 2], [3, 4], [5, 6, 7, 8], [9]].map((items) => batcher.add(items)))
  expect(sent).toEqual([[1, 2], [3, 4], [5, 6, 7, 8], [9]])
})

test('as many batches are away at a time as it was told, and its size may change', async () => {
  const sent: number[][] = []
  let [away, most, size] = [0, 0, 1]
  const batcher = new Batcher<number, number>(
    systemClock,
    () => size,
    async (items) => {
      most = Math.max(most, ++away)
      sent.push([...items])
      size = 3
      await systemClock.gather()
      away--
      return items
    },
    { abreast: 2 },
  )
  expect(await Promise.all([1, 2, 3, 4, 5, 6, 7].map((item) => batcher.add([item])))).toEqual([
    [1],
    [2],
    [3],
    [4],
    [5],
    [6],
    [7],
  ])
  expect(most).toBe(2)
  expect(sent.flat().sort()).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(Math.max(...sent.map(({ length }) => length))).toBe(3)
  // Nobody is left who waits for others: the next one goes out by itself.
  expect(await batcher.add([8])).toEqual([8])
})

test('a second batch is away only when there is a whole one, and nothing is left behind', async () => {
  const sent: number[][] = []
  const answers: (() => void)[] = []
  const batcher = new Batcher<number, number>(
    systemClock,
    2,
    (items) => {
      sent.push([...items])
      return new Promise((resolve) => answers.push(() => resolve(items)))
    },
    { whole: 1 },
  )
  const all = [batcher.add([1, 2])]
  all.push(batcher.add([3]))
  await systemClock.gather()
  expect(sent, 'half a batch waits').toEqual([[1, 2]])
  all.push(batcher.add([4]))
  await systemClock.gather()
  expect(sent, 'a whole one does not').toEqual([
    [1, 2],
    [3, 4],
  ])
  all.push(batcher.add([5]), batcher.add([6]))
  await systemClock.gather()
  expect(sent.length, 'a third one does').toBe(2)
  for (let i = 0; i < 4; i++) {
    answers[i]?.()
    await systemClock.gather()
    await systemClock.gather()
  }
  expect(await Promise.all(all)).toEqual([[1, 2], [3], [4], [5], [6]])
  expect(sent.flat()).toEqual([1, 2, 3, 4, 5, 6])
})
