// Numbered values are as those of a Map, whatever comes and goes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Numbered } from '../../../src/base/sequence-map.ts'

const number = fc.oneof(fc.integer({ min: 0, max: 600 }), fc.integer({ min: 2 ** 40, max: 2 ** 40 + 600 }))
const step = fc.record({ do: fc.constantFrom('set', 'set', 'delete', 'has', 'clear' as const), number })

test('any sequence of steps leaves what a Map holds', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const numbered = new Numbered<{ of: number }>()
      const map = new Map<number, { of: number }>()
      for (const [i, { do: what, number: at }] of steps.entries()) {
        const value = { of: i }
        if (what === 'set') for (const each of [numbered, map]) each.set(at, value)
        else if (what === 'delete') for (const each of [numbered, map]) each.delete(at)
        else if (what === 'has') expect(numbered.has(at)).toBe(map.has(at))
        else if (i % 10 === 0) for (const each of [numbered, map]) each.clear()
      }
      const sorted = (entries: Iterable<[number, { of: number }]>) => [...entries].sort(([a], [b]) => a - b)
      expect(sorted(numbered.entries())).toEqual(sorted(map))
    }),
  )
})

test('one that is not there is not taken away, and numbers of other pages stay', () => {
  const numbered = new Numbered<object>()
  const value = {}
  for (const each of [1, 2, 300]) numbered.set(each, value)
  numbered.delete(3)
  numbered.delete(900)
  numbered.delete(1)
  numbered.delete(1)
  expect([...numbered.entries()]).toEqual([
    [2, value],
    [300, value],
  ])
})
