// Chance: uuids in time order, and spreads within their share.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { spread, systemRandom, uuidsInOrder } from '../../../src/base/random.ts'

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('an id is a uuid of version 7 and variant 10, whatever chance gives', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 48 - 1 }),
      fc.uint8Array({ minLength: 8, maxLength: 8 }),
      (ms, bytes) => {
        const hex = (count: number) => Buffer.from(bytes.subarray(0, count)).toString('hex')
        const id = uuidsInOrder({ float: () => 0, hex })(ms)
        expect(id).toMatch(uuidV7)
        expect(Number.parseInt(id.slice(0, 13).replace('-', ''), 16)).toBe(ms)
      },
    ),
  )
})

test('ids of later milliseconds sort after earlier ones, as text', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 2 ** 48 - 1 }), { minLength: 2, maxLength: 20 }), (times) => {
      const sorted = [...times].sort((a, b) => a - b)
      const ids = sorted.map((ms) => uuidsInOrder(systemRandom)(ms))
      expect([...ids].sort()).toEqual(ids)
    }),
  )
})

test('ten thousand ids of one millisecond differ, come in order, and are uuids', () => {
  const next = uuidsInOrder(systemRandom)
  const ids = Array.from({ length: 10_000 }, () => next(1))
  expect(new Set(ids).size).toBe(ids.length)
  expect([...ids].sort()).toEqual(ids)
  expect(ids.every((id) => uuidV7.test(id))).toBe(true)
})

test('ids come in order when the clock goes back', () => {
  const next = uuidsInOrder(systemRandom)
  const ids = [5_000, 4_000, 4_999, 5_001].map((ms) => next(ms))
  expect([...ids].sort()).toEqual(ids)
})

test('the system gives floats in [0, 1) and hex of the length asked for', () => {
  const floats = Array.from({ length: 1_000 }, () => systemRandom.float())
  expect(floats.every((float) => float >= 0 && float < 1)).toBe(true)
  expect(new Set(floats).size).toBeGreaterThan(990)
  expect(systemRandom.hex(16)).toMatch(/^[0-9a-f]{32}$/)
})

test.each([
  [0, 75],
  [0.5, 100],
  [1 - 2 ** -48, 125],
])('a spread of 100 by a quarter at chance %d is %d', (float, expected) => {
  expect(spread({ float: () => float }, 100, 0.25)).toBeCloseTo(expected, 6)
})
