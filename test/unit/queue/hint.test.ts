// A tenth of what is popped belongs to the swept lane, exactly, over pops of any size.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OtherLane } from '../../../src/queue/hint.ts'

test('over many pops the other lane gets a tenth, give or take one', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 200 }), (limits) => {
      const lane = new OtherLane()
      let popped = 0
      let shared = 0
      for (const limit of limits) {
        const share = lane.share(limit)
        expect(share).toBeGreaterThanOrEqual(0)
        expect(share).toBeLessThanOrEqual(limit)
        popped += limit
        shared += share
      }
      expect(Math.abs(shared - popped / 10)).toBeLessThanOrEqual(1)
    }),
  )
})

test.each([
  [1, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]],
  [5, [0, 1, 0, 1]],
  [10, [1, 1, 1]],
  [25, [2, 3, 2, 3]],
])('pops of %d leave it %j', (limit, shares) => {
  const lane = new OtherLane()
  expect(shares.map(() => lane.share(limit))).toEqual(shares)
})

test('a pop of nothing takes nothing from what the other lane is owed', () => {
  const lane = new OtherLane()
  expect([9, 0, 1].map((limit) => lane.share(limit))).toEqual([0, 0, 1])
})
