// Rules of a look at single hints. It is a capability: a queue without it has nothing to keep here.
import assert from 'node:assert/strict'
import type { Queue } from '../../queue/queue.ts'
import type { Case } from '../suite.ts'
import { drain, hint, hints, hourMs, pop, type QueueContext } from './context.ts'

const look = async (queue: Queue, keys: readonly string[], job = 'a') =>
  Object.fromEntries([...((await queue.inspection?.peek(job, keys)) ?? [])].sort())

export const peekCases: readonly Case<QueueContext>[] = [
  {
    name: 'a queue that can peek tells of each key its lane and how long until it is due, and says nothing of others',
    async run(context) {
      const queue = await context.open()
      if (!queue.inspection) return
      await queue.push([hint('now'), hint('swept', { fresh: false }), hint('x', { job: 'b' })])
      await queue.push([hint('later', { delayMs: hourMs }), hint('much', { delayMs: 2 * hourMs, fresh: false })])
      const { later, much, ...due } = await look(queue, ['now', 'swept', 'later', 'much', 'none', 'x'])
      assert.deepEqual(due, { now: { dueInMs: 0, fresh: true }, swept: { dueInMs: 0, fresh: false } })
      for (const [found, ms, fresh] of [
        [later, hourMs, true],
        [much, 2 * hourMs, false],
      ] as const) {
        assert.equal(found?.fresh, fresh)
        assert.ok(found.dueInMs > ms - 60_000 && found.dueInMs <= ms, `due in ${found.dueInMs} of ${ms} ms`)
      }
      assert.deepEqual(await look(queue, []), {})
    },
  },
  {
    name: 'a peek takes nothing away, and every process sees the same',
    async run(context) {
      const queue = await context.open()
      const other = await context.another()
      if (!queue.inspection) return
      await queue.push(hints(1_000))
      const keys = hints(1_000).map(({ key }) => key)
      assert.equal(Object.keys(await look(other, keys)).length, 1_000)
      assert.equal((await drain(queue)).length, 1_000)
      assert.deepEqual(await look(other, keys), {})
    },
  },
  {
    name: 'a peek follows a hint that is made sooner, moved to the fresh lane, or popped',
    async run(context) {
      const queue = await context.open()
      if (!queue.inspection) return
      await queue.push([hint('x', { delayMs: hourMs, fresh: false })])
      await queue.push([hint('x', { delayMs: 60_000 })])
      const { x } = await look(queue, ['x'])
      assert.ok(x?.fresh && x.dueInMs <= 60_000 && x.dueInMs > 0)
      await queue.push([hint('x')])
      assert.deepEqual(await look(queue, ['x']), { x: { dueInMs: 0, fresh: true } })
      assert.equal((await pop(queue)).length, 1)
      assert.deepEqual(await look(queue, ['x']), {})
    },
  },
]
