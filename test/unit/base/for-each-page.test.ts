import { expect, test } from 'vitest'
import { pledge } from '../../../src/base/deferred.ts'
import { inPages } from '../../../src/base/for-each-page.ts'

test('every item is in one page, in order, and no more pages are under way than may be', async () => {
  const pages: [number, number][] = []
  let [underWay, most] = [0, 0]
  await inPages(
    { count: 10, away: 2 },
    (from) => (from === 0 ? 1 : 4),
    async (from, until) => {
      pages.push([from, until])
      most = Math.max(most, ++underWay)
      await Promise.resolve()
      underWay--
    },
  )
  expect(pages).toEqual([
    [0, 1],
    [1, 5],
    [5, 9],
    [9, 10],
  ])
  expect(most).toBe(2)
})

test('of nothing there is no page', async () => {
  const page = () => Promise.reject(new Error('there is one'))
  await inPages({ count: 0, away: 3 }, () => 1, page)
})

test('when a page fails its error is told, and none begins after it', async () => {
  const begun: number[] = []
  const slow = pledge()
  const working = inPages(
    { count: 10, away: 2 },
    () => 1,
    async (from) => {
      begun.push(from)
      if (from === 0) throw new Error('no')
      await slow.promise
    },
  )
  await expect(working).rejects.toThrow('no')
  slow.resolve()
  await slow.promise
  expect(begun).toEqual([0, 1])
})
