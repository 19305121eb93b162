// The ramp: how many hints may have come back by when.
import { expect, test } from 'vitest'
import { defaultBounds } from '../../../src/queue/hint.ts'
import { allowedBy } from '../../../src/sweep/ramp.ts'

test('a thousand at once, twice as many with each twentieth of a second, and no bound in the end', () => {
  expect([0, 50, 100, 200].map(allowedBy)).toEqual([1_000, 2_000, 4_000, 16_000])
  expect(allowedBy(25)).toBe(1_414)
  expect(allowedBy(299)).toBeGreaterThan(defaultBounds.maxHints)
  expect(allowedBy(300)).toBe(Number.POSITIVE_INFINITY)
})

test('where nothing came back at once there is no ramp, and a clock that was put back allows the first ones', () => {
  expect(allowedBy(null)).toBe(Number.POSITIVE_INFINITY)
  expect(allowedBy(-5_000)).toBe(1_000)
})
