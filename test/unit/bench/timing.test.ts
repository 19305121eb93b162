// How all sides of a comparison measure.
import { expect, test } from 'vitest'
import { callers, percentile, waitsOf } from '../../../bench/sides/timing.ts'

test('a percentile is a value that was measured, whatever the order', () => {
  const values = Array.from({ length: 100 }, (_, n) => 100 - n)
  expect([0.5, 0.99, 1].map((share) => percentile(values, share))).toEqual([50, 99, 100])
  expect(percentile([7], 0.99)).toBe(7)
  expect(percentile([], 0.5)).toBeNaN()
})

test('the first tenth of an idle worker’s waits does not count', () => {
  expect(waitsOf([900, 900, ...Array.from({ length: 18 }, () => 2)])).toEqual({ p50: 2, p95: 2 })
})

test('so many callers make every call once, and never more of them at a time', async () => {
  const [seen, running] = [[] as number[], { now: 0, most: 0 }]
  await callers(25, 10, async (n) => {
    seen.push(n)
    running.most = Math.max(running.most, ++running.now)
    await Promise.resolve()
    running.now--
  })
  expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => n + 1))
  expect(running.most).toBe(10)
})
