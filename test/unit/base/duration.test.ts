// Durations as people write them, and what is refused.
import { describe, expect, test } from 'vitest'
import { type Duration, milliseconds, readable } from '../../../src/base/duration.ts'
import { hostileValues } from '../../hostile-values.ts'

describe('a duration is read', () => {
  test.each([
    [0, 0],
    [250, 250],
    ['0s', 0],
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5s', 1_500],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['10 s', 10_000],
    [Number.MIN_VALUE, 0],
    ['0.000001ms', 0],
    [0.0014, 0.001],
  ])('%j is %d ms', (given, expected) => {
    expect(milliseconds(given as Duration)).toBe(expected)
  })

  test.each([
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    '5',
    '-5s',
    '5 minutes',
    '5M',
    's',
    '1e3s',
    '5s ',
    null,
    undefined,
    {},
    `${'9'.repeat(40)}s`,
  ])('%j is refused, and the error says what one looks like', (given) => {
    expect(() => milliseconds(given as Duration, '`timeout`')).toThrow(
      expect.objectContaining({
        code: 'bad_duration',
        message: expect.stringMatching(/^`timeout` is .*\n {2}→ .*'30s'/s),
      }),
    )
  })
})

test.each([
  [0, '0ms'],
  [999, '999ms'],
  [1_000, '1s'],
  [1_400, '1.4s'],
  [59_940, '59.9s'],
  [60_000, '1m'],
  [200_000, '3m 20s'],
  [7_500_000, '2h 5m'],
  [90_061_000, '1d 1h'],
])('%d ms reads as %s', (ms, expected) => {
  expect(readable(ms)).toBe(expected)
})

test.each(hostileValues)('$what is no duration, and the error says so', ({ make }) => {
  expect(() => milliseconds(make() as Duration, '`in`')).toThrow(expect.objectContaining({ code: 'bad_duration' }))
})
