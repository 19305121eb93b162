// The ramp: how many hints may have come back by when.
import { expect, test } from 'vitest'
import { allowedBy } from '../../../src/sweep/ramp.ts'

test('five hundred at once, twice as many with each second, and no bound in the end', () => {
  expect([0, 1_000, 2_000, 5_000].map(allowedBy)).toEqual([500, 1_000, 2_000, 16_000])
  expect(allowedBy(500)).toBe(707)
  expect(allowedBy(20_000)).toBe(Number.POSITIVE_INFINITY)
})

test('where nothing came back at once there is no ramp, and a clock that was put back allows the first ones', () => {
  expect(allowedBy(null)).toBe(Number.POSITIVE_INFINITY)
  expect(allowedBy(-5_000)).toBe(500)
})
