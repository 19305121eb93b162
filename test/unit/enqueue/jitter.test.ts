// Jitter: some time in the next half hour, or between two durations.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jitterOf } from '../../../src/enqueue/jitter.ts'
import type { Jitter } from '../../../src/job/declaration.ts'

const at = (float: number) => ({ float: () => float, hex: () => '' })

test('without jitter nothing waits', () => {
  expect(jitterOf(at(0.9), undefined)()).toBe(0)
})

test('every draw lies between the two durations, and reaches both ends', () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.nat(1_000_000), chance, (from, more, float) => {
      const delay = jitterOf(at(float), [from, from + more])()
      expect(delay).toBeGreaterThanOrEqual(from)
      expect(delay).toBeLessThanOrEqual(from + more)
    }),
  )
  expect(jitterOf(at(0), ['5m', '30m'])()).toBe(300_000)
  expect(jitterOf(at(1 - 2 ** -48), ['5m', '30m'])()).toBeCloseTo(1_800_000, 3)
  expect(jitterOf(at(0), '30m')()).toBe(0)
  expect(jitterOf(at(0.5), '30m')()).toBe(900_000)
})

test('each hint has a draw of its own', () => {
  let n = 0
  const draw = jitterOf({ float: () => n++ / 10, hex: () => '' }, 1_000)
  expect([draw(), draw(), draw()]).toEqual([0, 100, 200])
})

test.each<[Jitter, RegExp]>([
  [['30m', '5m'], /ends \(300000 ms\) before it begins \(1800000 ms\)/],
  ['soon' as Jitter, /`jitter` is "soon"/],
  [['1m', 'x' as '1m'], /`jitter` is "x"/],
])('%j is refused', (jitter, message) => {
  expect(() => jitterOf(at(0), jitter)).toThrow(message)
})
