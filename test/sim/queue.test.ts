// The simulated queue keeps the rules of a queue, and has the misfortunes that real ones have.
import { expect, test } from 'vitest'
import type { Hint, QueueBounds } from '../../src/queue/hint.ts'
import { SimQueue } from './queue/sim-queue.ts'

const hint = (key: string, over: Partial<Hint> = {}): Hint => ({ job: 'a', key, delayMs: 0, fresh: true, ...over })
const many = (count: number, prefix: string, over: Partial<Hint> = {}) =>
  Array.from({ length: count }, (_, i) => hint(`${prefix}${i}`, over))
const keys = (queue: SimQueue, limit = 100) =>
  queue.pop({ jobs: [{ job: 'a', limit }], limit, waitMs: 0 }).hints.map(({ key }) => key)

function at(bounds: Partial<QueueBounds> = {}) {
  const time = { now: 1_000 }
  return { time, queue: new SimQueue(() => time.now, bounds) }
}

test('there is one hint per job and key, and a pop removes it', () => {
  const { queue } = at()
  expect(queue.push([hint('x'), hint('x', { job: 'b' })])).toEqual({ added: 2, merged: 0, dropped: 0 })
  expect(queue.push([hint('x')])).toEqual({ added: 0, merged: 1, dropped: 0 })
  expect(keys(queue)).toEqual(['x'])
  expect(keys(queue)).toEqual([])
  expect(queue.all()).toEqual([{ job: 'b', key: 'x', dueAt: 1_000, fresh: true }])
})

test('a fresh push makes a hint sooner, a swept one leaves it alone', () => {
  const { queue } = at()
  queue.push([hint('x', { delayMs: 500, fresh: false })])
  queue.push([hint('x', { delayMs: 100, fresh: false })])
  expect(queue.all()).toEqual([{ job: 'a', key: 'x', dueAt: 1_500, fresh: false }])
  queue.push([hint('x', { delayMs: 100 })])
  expect(queue.all()).toEqual([{ job: 'a', key: 'x', dueAt: 1_100, fresh: true }])
  queue.push([hint('x', { delayMs: 900 })])
  expect(queue.all()).toEqual([{ job: 'a', key: 'x', dueAt: 1_100, fresh: true }])
})

test('delayed hints are popped when they fall due, in that order, and the next time is told', () => {
  const { queue, time } = at()
  queue.push([hint('late', { delayMs: 20 }), hint('soon', { delayMs: 10 })])
  expect(keys(queue)).toEqual([])
  expect(queue.nextDue(['a'])).toBe(1_010)
  expect(queue.count(['a'])).toEqual(new Map([['a', { due: 0, delayed: 2 }]]))
  time.now = 1_010
  expect(queue.nextDue(['a'])).toBe(1_020)
  time.now = 1_020
  expect(queue.nextDue(['a'])).toBe(Infinity)
  expect(keys(queue)).toEqual(['soon', 'late'])
})

test('fresh hints are popped first, and a tenth of what is popped is of the swept lane', () => {
  const { queue } = at()
  queue.push(many(50, 's', { fresh: false }))
  queue.push(many(50, 'f'))
  const swept = (popped: readonly string[]) => popped.filter((key) => key.startsWith('s')).length
  expect(swept(keys(queue, 20))).toBe(2)
  const ones = Array.from({ length: 20 }, () => keys(queue, 1)).flat()
  expect(swept(ones)).toBe(2)
})

test('a pop keeps to the limit of each job and to that over all of them', () => {
  const { queue } = at()
  queue.push([...many(5, 'k'), ...many(5, 'k', { job: 'b' }), ...many(5, 'k', { job: 'c' })])
  const jobs = [
    { job: 'a', limit: 2 },
    { job: 'b', limit: 9 },
  ]
  expect(queue.pop({ jobs, limit: 4, waitMs: 0 }).hints.map(({ job }) => job)).toEqual(['a', 'a', 'b', 'b'])
  expect(queue.pop({ jobs, limit: 99, waitMs: 0 }).hints.map(({ job }) => job)).toEqual(['a', 'a', 'b', 'b', 'b'])
})

test('bounds are per job and lane, and for delayed hints per job; a share of them is a part of each', () => {
  const { queue } = at({ maxHints: 3, maxDelayed: 2 })
  expect(queue.push(many(5, 'f'), { share: 0.5 })).toEqual({ added: 2, merged: 0, dropped: 3 })
  expect(queue.push(many(5, 'f'))).toEqual({ added: 1, merged: 2, dropped: 2 })
  expect(queue.push(many(5, 's', { fresh: false }))).toEqual({ added: 3, merged: 0, dropped: 2 })
  expect(queue.push(many(5, 'd', { delayMs: 10 }))).toEqual({ added: 2, merged: 0, dropped: 3 })
})

test('in a full lane a hint that is there is still made sooner', () => {
  const { queue } = at({ maxHints: 1, maxDelayed: 2 })
  queue.push([hint('now'), ...many(2, 'd', { delayMs: 10, fresh: false })])
  expect(queue.push([hint('d1')])).toEqual({ added: 0, merged: 1, dropped: 0 })
  expect(keys(queue)).toEqual(['now', 'd1'])
})

test('the mark is moved where it is found and not behind, and never made by that', () => {
  const { queue } = at()
  const mark = () => queue.pop({ jobs: [], limit: 0, waitMs: 0 }).mark
  expect(queue.advanceMark({ epoch: 1, sequence: 1 })).toBe(null)
  expect(mark()).toBe(null)
  queue.setMark({ epoch: 1, sequence: 5 })
  for (const known of [
    { epoch: 1, sequence: 6 },
    { epoch: 2, sequence: 0 },
  ])
    expect(queue.advanceMark(known)).toEqual({ epoch: 1, sequence: 5 })
  expect(mark()).toEqual({ epoch: 1, sequence: 5 })
  expect(queue.advanceMark({ epoch: 1, sequence: 5 })).toEqual({ epoch: 1, sequence: 5 })
  expect(mark()).toEqual({ epoch: 1, sequence: 6 })
})

test('swept hints that are meant for another epoch are not taken; fresh ones are', () => {
  const { queue } = at()
  const both = [hint('fresh'), hint('swept', { fresh: false })]
  expect(queue.push(both, { epoch: 1 })).toEqual({ added: 1, merged: 0, dropped: 0, lost: 1 })
  queue.setMark({ epoch: 1, sequence: 0 })
  expect(queue.push(both, { epoch: 2 })).toEqual({ added: 0, merged: 1, dropped: 0, lost: 1 })
  expect(queue.push(both, { epoch: 1 })).toEqual({ added: 1, merged: 1, dropped: 0 })
})

test('an old copy that comes back has the hints and the mark of then, whatever was done since', () => {
  const { queue } = at()
  queue.push([hint('old')])
  queue.setMark({ epoch: 1, sequence: 1 })
  const copy = queue.snapshot()
  queue.advanceMark({ epoch: 1, sequence: 1 })
  expect(keys(queue)).toEqual(['old'])
  queue.push([hint('new')])
  queue.restore(copy)
  const popped = queue.pop({ jobs: [{ job: 'a', limit: 9 }], limit: 9, waitMs: 0 })
  expect(popped).toEqual({ hints: [{ job: 'a', key: 'old', fresh: true }], mark: { epoch: 1, sequence: 1 } })
  queue.restore(copy)
  expect(keys(queue)).toEqual(['old'])
})

test('a partial loss leaves the mark, a wipe takes it along', () => {
  const { queue } = at()
  queue.push([hint('x'), hint('y')])
  queue.setMark({ epoch: 1, sequence: 1 })
  expect(queue.lose(({ key }) => key === 'x')).toBe(1)
  expect(queue.advanceMark({ epoch: 1, sequence: 1 })).not.toBe(null)
  expect(queue.wipe()).toBe(1)
  expect(queue.advanceMark({ epoch: 1, sequence: 1 })).toBe(null)
})

test('injected hints are there whatever the bounds say, and whoever waits hears of hints that came in', () => {
  const { queue } = at({ maxHints: 1 })
  let heard = 0
  queue.onPush = () => heard++
  queue.inject(many(3, 'foreign'))
  expect(heard).toBe(1)
  queue.push([hint('foreign0', { delayMs: 10 })])
  expect(heard).toBe(2)
  expect(keys(queue)).toHaveLength(3)
})
