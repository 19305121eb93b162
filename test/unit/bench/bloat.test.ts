// The long transactions of `npm run bench -- postgres`: the plan, the row, the table and the chart.
import { expect, test } from 'vitest'
import type { Steady } from '../../../bench/compare/task.ts'
import { bloatPage, bloatRowOf, bloatTask, bloatText, type Course } from '../../../bench/postgres/bloat.ts'
import { chartOf, powers, roundUp } from '../../../bench/postgres/chart.ts'

function steady(p99: number): Steady {
  const sample = { pop: p99, start: 2 * p99, started: 800, backlog: 3, dead: 1_234 }
  return {
    p99,
    startP99: 2 * p99,
    calmP99: 1,
    calmStartP99: 2,
    pinnedFromMs: 1_000,
    pinnedUntilMs: 2_000,
    samples: [1_000, 2_000, 3_000].map((atMs) => ({ atMs, ...sample })),
  }
}

const course: Course = { regrow: steady(1), 'pg-boss': steady(40), 'graphile-worker': steady(20) }

test.each([true, false])('each transaction begins before the one before it ends (quick: %s)', (quick) => {
  const { held, stagger, calm, after, interval, rate } = bloatTask(quick).settings as Record<string, number>
  expect(rate).toBe(800)
  expect(stagger).toBeLessThan(held as number)
  // Intervals do not straddle the begin and the end of the pinned time.
  for (const ms of [calm, (held as number) + 2 * (stagger as number), after])
    expect((ms as number) % (interval as number)).toBe(0)
})

test('the row is the p99 of each side, and its ratio is against the better peer', () => {
  expect(bloatRowOf(course)).toMatchObject({
    id: 'postgres.bloat.p99',
    unit: 'ms',
    regrow: 1,
    peers: { 'pg-boss': 40, 'graphile-worker': 20 },
    ratio: 0.05,
    met: true,
  })
})

test('the text has a line per interval with all sides, and says when the horizon was pinned', () => {
  const [, first, second, third] = bloatText(course)
  expect(first).toMatch(/^1\.00 +1 \/ 40 \/ 20 /)
  expect(second).toMatch(/^2\.00 +pinned +1 \/ 40 \/ 20 .*1,234 \/ 1,234 \/ 1,234$/)
  expect(third).toMatch(/^3\.00 +1 \//)
})

test('the page shows the chart', () => {
  expect(bloatPage(course, 'chart.svg')[0]).toContain('](chart.svg)')
})

test('the chart has a curve per side in each of four panels, and a point per interval', () => {
  const curves = [...chartOf(course).matchAll(/<polyline points="([^"]+)"/g)].map(([, points]) => points as string)
  expect(curves).toHaveLength(12)
  for (const points of curves) expect(points.split(' ')).toHaveLength(3)
  expect(chartOf(course)).not.toMatch(/NaN|undefined|Infinity/)
})

test('an interval without a pop leaves a gap, not a zero', () => {
  const samples = course.regrow.samples.map((each, n) => (n === 1 ? { ...each, pop: Number.NaN } : each))
  const svg = chartOf({ ...course, regrow: { ...course.regrow, samples } })
  expect(svg).not.toContain('NaN')
  const [first] = [...svg.matchAll(/<polyline points="([^"]+)"/g)]
  expect(first?.[1]?.split(' ')).toHaveLength(2)
})

test('a scale ends at the next round number', () => {
  expect([0.3, 1, 1.2, 3, 7, 12, 240, 51_000].map(roundUp)).toEqual([0.5, 1, 2, 5, 10, 20, 500, 100_000])
  expect([0, Number.NaN].map(roundUp)).toEqual([1, 1])
})

test('times are drawn between powers of ten', () => {
  const { marks, share } = powers([0.4, 40, Number.NaN, 0])
  expect(marks).toEqual([0.1, 1, 10, 100])
  expect([0.1, 1, 100, 0].map(share).map((each) => Number(each.toFixed(3)))).toEqual([0, 0.333, 1, 0])
  expect(powers([]).marks).toEqual([1, 10])
})
