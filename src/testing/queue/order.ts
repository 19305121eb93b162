// Rules of time: hints come out when they are due, in that order, by the queue's own clock.
import assert from 'node:assert/strict'
import type { Clock } from '../../drivers/index.ts'
import type { Case } from '../suite.ts'
import { drain, hint, hourMs, next, pop, promptMs, type QueueContext } from './context.ts'

/** Rounding of clocks: what a queue may be early by. */
const roundingMs = 15

/** A process whose clocks are wrong by `ms`. */
const skewed = (clock: Clock, ms: number): Clock => ({
  ...clock,
  now: () => clock.now() + ms,
  wall: () => clock.wall() + ms,
})

export const orderCases: readonly Case<QueueContext>[] = [
  {
    name: 'hints come out in the order in which they come due, not in that of their push',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('late', { delayMs: 300 }), hint('soon', { delayMs: 100 }), hint('now')])
      const order = [await next(context, queue), await next(context, queue), await next(context, queue)]
      assert.deepEqual(
        order.map(({ key }) => key),
        ['now', 'soon', 'late'],
      )
    },
  },
  {
    name: 'among hints that are due already, the one that came due first is popped first',
    async run(context) {
      const queue = await context.open()
      await queue.push([
        hint('third', { delayMs: 90 }),
        hint('first', { delayMs: 30 }),
        hint('second', { delayMs: 60 }),
      ])
      await queue.push([hint('all are due', { job: 'later', delayMs: 120 })])
      await next(context, queue, 'later')
      const order = [await pop(queue, 1), await pop(queue, 1), await pop(queue, 1)].flat()
      assert.deepEqual(
        order.map(({ key }) => key),
        ['first', 'second', 'third'],
      )
    },
  },
  {
    name: 'a delayed hint is not popped before its time, and then it is',
    async run(context) {
      const queue = await context.open()
      const pushedAt = context.clock.now()
      await queue.push([hint('x', { delayMs: 400 })])
      assert.deepEqual(await pop(queue), [])
      assert.equal((await next(context, queue)).key, 'x')
      const waitedMs = context.clock.now() - pushedAt
      assert.ok(waitedMs >= 400 - roundingMs, `it came after ${Math.round(waitedMs)} ms`)
      assert.ok(waitedMs < 400 + promptMs, `it came only after ${Math.round(waitedMs)} ms`)
    },
  },
  {
    name: 'a delay is counted on the clock of the queue, so a process whose clock is wrong pushes and pops on time',
    async run(context) {
      const ahead = await context.open({}, skewed(context.clock, hourMs))
      const behind = await context.another(skewed(context.clock, -hourMs))
      await ahead.push([hint('by ahead', { delayMs: 0 }), hint('by ahead, later', { delayMs: hourMs / 2 })])
      assert.deepEqual(
        (await drain(behind)).map(({ key }) => key),
        ['by ahead'],
      )
      await behind.push([hint('by behind', { delayMs: 0 }), hint('by behind, later', { delayMs: hourMs / 2 })])
      assert.deepEqual(
        (await drain(ahead)).map(({ key }) => key),
        ['by behind'],
      )
    },
  },
  {
    name: 'a negative delay is due now',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x', { delayMs: -5_000 })])
      assert.deepEqual(await pop(queue), [{ job: 'a', key: 'x', fresh: true }])
    },
  },
  {
    name: 'a fraction of a millisecond and a delay of years are fine',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('soon', { delayMs: 0.25 }), hint('years', { delayMs: 10 * 365 * 24 * hourMs + 0.5 })])
      assert.equal((await next(context, queue)).key, 'soon')
      assert.deepEqual((await queue.count(['a'])).get('a'), { due: 0, delayed: 1 })
    },
  },
]
