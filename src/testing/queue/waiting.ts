// Rules of a pop that waits: it wakes for what it asked for, ends in time, and ends when it is told to.
import assert from 'node:assert/strict'
import type { Popped } from '../../queue/queue.ts'
import { type Case, within } from '../suite.ts'
import { hint, hourMs, pop, promptMs, type QueueContext } from './context.ts'

const forA = (waitMs: number) => ({ jobs: [{ job: 'a', limit: 10 }], limit: 10, waitMs })
const keys = ({ hints }: Popped) => hints.map(({ key }) => key)

export const waitingCases: readonly Case<QueueContext>[] = [
  {
    name: 'a pop that waits 0 ms answers at once',
    async run(context) {
      const queue = await context.open()
      const answer = await within(context.clock, 1_000, 'A pop of an empty queue', queue.pop(forA(0)))
      assert.deepEqual(keys(answer), [])
    },
  },
  {
    name: 'a waiting pop returns when a hint is pushed',
    async run(context) {
      const queue = await context.open()
      const waiting = queue.pop(forA(30_000))
      await queue.push([hint('x')])
      assert.deepEqual(keys(await within(context.clock, promptMs, 'The waiting pop', waiting)), ['x'])
    },
  },
  {
    name: 'a waiting pop returns when another process pushes a hint',
    async run(context) {
      const queue = await context.open()
      const other = await context.another()
      const waiting = queue.pop(forA(30_000))
      await other.push([hint('x')])
      assert.deepEqual(keys(await within(context.clock, promptMs, 'The waiting pop', waiting)), ['x'])
    },
  },
  {
    name: 'a waiting pop returns when a delayed hint comes due',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x', { delayMs: 200 })])
      const answer = await within(context.clock, 200 + promptMs, 'The waiting pop', queue.pop(forA(30_000)))
      assert.deepEqual(keys(answer), ['x'])
    },
  },
  {
    name: 'a waiting pop returns when a fresh push makes a delayed hint sooner',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x', { delayMs: hourMs, fresh: false })])
      const waiting = queue.pop(forA(30_000))
      await queue.push([hint('x', { delayMs: 100 })])
      assert.deepEqual(keys(await within(context.clock, 100 + promptMs, 'The waiting pop', waiting)), ['x'])
    },
  },
  {
    name: 'a waiting pop that gets nothing returns empty at the end of its wait, whatever other jobs do',
    async run(context) {
      const queue = await context.open()
      const since = context.clock.now()
      const waiting = queue.pop(forA(300))
      await queue.push([hint('x', { job: 'b' })])
      assert.deepEqual(keys(await within(context.clock, 300 + promptMs, 'The waiting pop', waiting)), [])
      const waitedMs = context.clock.now() - since
      assert.ok(waitedMs >= 280, `it gave up after ${Math.round(waitedMs)} of 300 ms`)
    },
  },
  {
    name: 'an abort ends a waiting pop with nothing, and no hint is lost to it',
    async run(context) {
      const queue = await context.open()
      const stop = new AbortController()
      const waiting = queue.pop(forA(30_000), stop.signal)
      stop.abort()
      assert.deepEqual(keys(await within(context.clock, 1_000, 'The aborted pop', waiting)), [])
      await queue.push([hint('x')])
      assert.deepEqual(await pop(queue), [{ job: 'a', key: 'x', fresh: true }])
    },
  },
  {
    name: 'a pop whose signal was aborted before does not wait',
    async run(context) {
      const queue = await context.open()
      const waiting = queue.pop(forA(30_000), AbortSignal.abort())
      assert.deepEqual(keys(await within(context.clock, 1_000, 'The aborted pop', waiting)), [])
    },
  },
  {
    name: 'pops that wait for different jobs each get their own',
    async run(context) {
      const queue = await context.open()
      const other = await context.another()
      const a = queue.pop(forA(30_000))
      const b = other.pop({ jobs: [{ job: 'b', limit: 10 }], limit: 10, waitMs: 30_000 })
      await queue.push([hint('for b', { job: 'b' })])
      assert.deepEqual(keys(await within(context.clock, promptMs, 'The pop of job b', b)), ['for b'])
      await queue.push([hint('for a')])
      assert.deepEqual(keys(await within(context.clock, promptMs, 'The pop of job a', a)), ['for a'])
    },
  },
]
