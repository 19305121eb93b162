// Unknown options get a guess.
import { expect, test } from 'vitest'
import { nearest, unknownOptions } from '../../../src/base/suggest.ts'

const known = ['pending', 'input', 'timeout', 'uniqueUntil', 'retry']

test.each([
  ['pendign', 'pending'],
  ['TIMEOUT', 'timeout'],
  ['timout', 'timeout'],
  ['uniqeUntill', 'uniqueUntil'],
  ['unique', 'uniqueUntil'],
  ['re', undefined],
  ['inp', 'input'],
  ['colour', undefined],
  ['', undefined],
])('the nearest known name to %j is %j', (name, guess) => {
  expect(nearest(name, known)).toBe(guess)
})

test('every unknown option is a sentence, with a guess or with what is known', () => {
  expect(unknownOptions({ pendin: 1, input: 2, colour: 3 }, known, 'job "a"')).toEqual([
    'job "a": unknown option "pendin"; did you mean "pending"?',
    'job "a": unknown option "colour"; known are: pending, input, timeout, uniqueUntil, retry',
  ])
})

test('known options are no mistake', () => {
  expect(unknownOptions({ pending: 1, retry: undefined }, known, 'job "a"')).toEqual([])
})
