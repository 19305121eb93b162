// How far back beats look: not at what is long over, but far enough for a take that commits late, and at all now and then.
import { expect, test } from 'vitest'
import { Behind } from '../../../src/worker/orphan-window.ts'

/** What each of so many beats begins with, when every beat finds ten takes more. */
const looks = (beats: number) => {
  const behind = new Behind()
  return Array.from({ length: beats }, (_, beat) => behind.lowest(beat * 10))
}

test('a beat begins where the lowest take stood twenty beats ago: a reply may be that late', () => {
  const looked = looks(200)
  for (const [beat, from] of looked.entries()) if (from > 0) expect(from).toBe((beat - 20) * 10)
  expect(looked.slice(0, 20)).toEqual(Array(20).fill(0))
})

test('now and then, however long it goes on, a beat looks at all of them (M31)', () => {
  const whole = looks(2_000).flatMap((from, beat) => (from === 0 && beat > 20 ? [beat] : []))
  const apart = whole.slice(1).map((beat, i) => beat - (whole[i] as number))
  expect(whole.length).toBeGreaterThan(40)
  expect(Math.max(...apart)).toBeLessThanOrEqual(41)
  // Most are quick.
  expect(whole.length).toBeLessThan(2_000 / 10)
})

test('a take that is held for long is never behind', () => {
  const behind = new Behind()
  for (let beat = 0; beat < 200; beat++) expect(behind.lowest(Math.min(beat * 10, 55))).toBeLessThanOrEqual(55)
})
