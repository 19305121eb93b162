// The arithmetic behind `npm run bench -- redis` and `-- postgres`: what becomes of pairs, and when a run says nothing.
import { expect, test } from 'vitest'
import { best, median, type RowKind, rowOf, shown, tooSlow } from '../../../bench/compare/figures.ts'

const speed: RowKind = { id: 'redis.bulk', unit: 'jobs/s', better: 'higher', mark: 10 }
const wait: RowKind = { id: 'redis.pickup.none', unit: 'ms', better: 'lower', mark: 0.6 }

test('the median is a value that was measured, also of an even number', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 3, 2])).toBe(2)
  expect(median([7])).toBe(7)
})

test('the best of some peers is the quickest, whichever way that is counted', () => {
  expect(best([1, 3, 2], 'higher')).toBe(3)
  expect(best([1, 3, 2], 'lower')).toBe(1)
})

test('a row is its pair in the middle, by the ratio within each pair', () => {
  const row = rowOf(speed, [
    { regrow: 300, peers: { bullmq: 20 } },
    { regrow: 100, peers: { bullmq: 10 } },
    { regrow: 480, peers: { bullmq: 40 } },
  ])
  expect(row).toEqual({
    id: 'redis.bulk',
    unit: 'jobs/s',
    regrow: 480,
    peers: { bullmq: 40 },
    ratio: 12,
    ratios: { bullmq: 12 },
    range: [10, 15],
    mark: 10,
    met: true,
  })
})

test('the ratio is exactly regrow over the best peer of the row', () => {
  const pairs = [0.31, 0.29, 0.33, 0.4, 0.27].map((regrow, n) => ({ regrow, peers: { slow: 2, bullmq: 0.7 + n / 10 } }))
  const { regrow, peers, ratio } = rowOf(wait, pairs)
  expect(ratio).toBe(regrow / Math.min(...Object.values(peers)))
})

test('where more is better the best peer is the one with the most', () => {
  const [pair] = [{ regrow: 30, peers: { bullmq: 5, 'bullmq, gathered': 10 } }]
  expect(rowOf(speed, [pair as never]).ratio).toBe(3)
})

test('a mark is met from its value on, upwards or downwards', () => {
  const met = (kind: RowKind, regrow: number) => rowOf(kind, [{ regrow, peers: { bullmq: 1 } }]).met
  expect([met(speed, 9.9), met(speed, 10), met(speed, 11)]).toEqual([false, true, true])
  expect([met(wait, 0.5), met(wait, 0.6), met(wait, 0.61)]).toEqual([true, true, false])
})

test('a peer each has its own mark and ratio, and both marks have to be met', () => {
  const kind: RowKind = { ...speed, mark: { 'pg-boss': 2, 'graphile-worker': 1.5 } }
  const row = (boss: number, graphile: number) =>
    rowOf(kind, [{ regrow: 60, peers: { 'pg-boss': boss, 'graphile-worker': graphile } }])
  expect(row(30, 40)).toMatchObject({ ratio: 1.5, ratios: { 'pg-boss': 2, 'graphile-worker': 1.5 }, met: true })
  expect(row(31, 40).met).toBe(false)
  expect(row(30, 41).met).toBe(false)
})

test('the ratio to each peer is the median of its own pairs, and not that of the pair in the middle', () => {
  const kind: RowKind = { ...speed, mark: { 'pg-boss': 2, 'graphile-worker': 1.5 } }
  const peers = (boss: number, graphile: number) => ({ 'pg-boss': boss, 'graphile-worker': graphile })
  const row = rowOf(kind, [
    { regrow: 60, peers: peers(30, 50) },
    { regrow: 60, peers: peers(39, 40) },
    { regrow: 60, peers: peers(20, 30) },
  ])
  expect(row).toMatchObject({ regrow: 60, peers: peers(39, 40), ratio: 1.5, met: true })
  expect(row.ratios).toEqual({ 'pg-boss': 2, 'graphile-worker': 1.5 })
})

test('a row without a peer has no ratio, and its mark is a value', () => {
  const kind: RowKind = { id: 'redis.recover', unit: 's', better: 'lower', mark: 1.5 }
  const row = rowOf(
    kind,
    [1.6, 0.4, 1.2].map((regrow) => ({ regrow, peers: {} })),
  )
  expect(row).toMatchObject({ regrow: 1.2, peers: {}, ratio: null, range: [0.4, 1.6], mark: 1.5, met: true })
})

test('a peer below seven tenths of what it is known to do makes the run invalid, and is named', () => {
  const bulk = { what: 'BullMQ bulk', unit: 'jobs/s', better: 'higher', value: 29_000 } as const
  expect(tooSlow(bulk, [20_301, 20_302, 20_303])).toBeNull()
  expect(tooSlow(bulk, [20_299, 20_298, 40_000])).toBe(
    'BullMQ bulk: 20,299 jobs/s, expected at least 20,300 (its baseline is 29,000)',
  )
})

test('a peer that waits too long makes the run invalid, too', () => {
  const pickup = { what: 'BullMQ pick-up p50', unit: 'ms', better: 'lower', value: 0.77 } as const
  expect(tooSlow(pickup, [1.09, 1.09, 9])).toBeNull()
  expect(tooSlow(pickup, [1.2, 0.8, 1.3])).toContain('1.20 ms, expected at most 1.10')
})

test('figures are shown with the digits that they deserve', () => {
  expect([0.123, 12.34, 12_345.6, Number.NaN].map(shown)).toEqual(['0.12', '12.3', '12,346', '–'])
})
