// Rules of the end: a closed queue hangs nobody, and what others still need stays.
import assert from 'node:assert/strict'
import { type Case, within } from '../suite.ts'
import { drain, hint, hints, type QueueContext, sortedKeys } from './context.ts'

const patienceMs = 2_000
const waitingForA = { jobs: [{ job: 'a', limit: 10 }], limit: 10, waitMs: 30_000 }

/** How a call ended: with a value or an error; either is fine after a close, hanging is not. */
const ending = async <T>(call: Promise<T>): Promise<{ value?: T; error?: unknown }> =>
  call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )

export const closingCases: readonly Case<QueueContext>[] = [
  {
    name: 'a close ends a waiting pop, which returns nothing',
    async run(context) {
      const queue = await context.open()
      const waiting = ending(queue.pop(waitingForA))
      await within(context.clock, patienceMs, 'The close', queue.close())
      const { value } = await within(context.clock, patienceMs, 'The waiting pop after the close', waiting)
      assert.deepEqual(value?.hints ?? [], [])
    },
  },
  {
    name: 'a push that is under way while the queue closes ends, one way or the other',
    async run(context) {
      const queue = await context.open()
      const pushing = ending(queue.push(hints(100)))
      await within(context.clock, patienceMs, 'The close', queue.close())
      await within(context.clock, patienceMs, 'The push', pushing)
    },
  },
  {
    name: 'after a close neither a push nor a pop hangs',
    async run(context) {
      const queue = await context.open()
      await queue.close()
      await within(context.clock, patienceMs, 'A push after the close', ending(queue.push([hint('x')])))
      await within(context.clock, patienceMs, 'A pop after the close', ending(queue.pop(waitingForA)))
    },
  },
  {
    name: 'closing twice is harmless',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x')])
      await Promise.all([queue.close(), queue.close()])
      await within(context.clock, patienceMs, 'The third close', queue.close())
    },
  },
  {
    name: 'a close takes no hint with it that another process still finds',
    async run(context) {
      const queue = await context.open()
      if (!queue.shared) return
      const other = await context.another()
      await queue.push(hints(100))
      const waiting = ending(queue.pop({ ...waitingForA, jobs: [{ job: 'b', limit: 10 }] }))
      await queue.close()
      await within(context.clock, patienceMs, 'The waiting pop after the close', waiting)
      assert.deepEqual(sortedKeys(await drain(other)), sortedKeys(hints(100)))
    },
  },
]
