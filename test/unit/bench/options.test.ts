// What `npm run bench -- NAME` is told.
import { expect, test } from 'vitest'
import { gain } from '../../../bench/compare/against.ts'
import { chosen, optionsOf } from '../../../bench/compare/run.ts'
import { scenes } from '../../../bench/postgres/rows.ts'

const pairs = { whole: 3, quick: 1 }

test('a run has as many pairs as its size has by default, unless it is told', () => {
  expect(optionsOf([], pairs)).toEqual({ quick: false, json: false, write: false, only: '', pairs: 3, against: '' })
  expect(optionsOf(['--quick', '--json'], pairs)).toMatchObject({ quick: true, json: true, pairs: 1 })
  expect(optionsOf(['--quick', '--pairs', '5'], pairs).pairs).toBe(5)
})

test('some rows are those whose names begin so', () => {
  const ids = (only: string) =>
    chosen(scenes(true), optionsOf(['--only', only], pairs)).flatMap((scene) => scene.map(({ id }) => id))
  expect(ids('postgres.bulk.i')).toEqual(['postgres.bulk.intents', 'postgres.bulk.intents.four'])
  expect(ids('redis')).toEqual([])
})

test('a part of the rows does not replace the page of all', () => {
  expect(() => optionsOf(['--write', '--only', 'postgres.bulk'], pairs)).toThrow(/leave --only out/)
})

test('a comparison with another checkout is not written as one with the peers', () => {
  expect(optionsOf(['--against', '../older'], pairs).against).toBe('../older')
  expect(() => optionsOf(['--write', '--against', '../older'], pairs)).toThrow(/leave --against out/)
})

test('against another checkout more is better, in rates and in times', () => {
  expect(gain({ better: 'higher' }, 110, 100)).toBeCloseTo(1.1)
  expect(gain({ better: 'lower' }, 2, 3)).toBeCloseTo(1.5)
})
