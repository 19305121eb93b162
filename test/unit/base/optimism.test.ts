// Writes that look first, and those that do not.
import { expect, test } from 'vitest'
import { Optimism } from '../../../src/base/optimism.ts'

test('after a write that was wrong so many look first, each name for itself', () => {
  const optimism = new Optimism({ looksAfterMistake: 2 })
  expect(optimism.expectsNew('a')).toBe(true)
  optimism.wasWrong('a')
  expect([optimism.expectsNew('a'), optimism.expectsNew('b')]).toEqual([false, true])
  optimism.hasLooked('a')
  expect(optimism.expectsNew('a')).toBe(false)
  optimism.hasLooked('a')
  optimism.hasLooked('a')
  expect(optimism.expectsNew('a')).toBe(true)
})

test('one that looks until it has reason to trust does so again after a mistake', () => {
  const always = Number.POSITIVE_INFINITY
  const careful = new Optimism({ looksAtFirst: always, looksAfterMistake: always })
  careful.hasLooked('a')
  expect(careful.expectsNew('a')).toBe(false)
  careful.trust('a')
  expect(careful.expectsNew('a')).toBe(true)
  careful.wasWrong('a')
  expect(careful.expectsNew('a')).toBe(false)
})
