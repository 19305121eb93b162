// Rules of identity: one hint per (job, key); a fresh push makes it sooner, a swept one leaves it alone.
import assert from 'node:assert/strict'
import type { Case } from '../suite.ts'
import { drain, hint, hints, hourMs, next, pop, type QueueContext, sortedKeys } from './context.ts'

export const dedupeCases: readonly Case<QueueContext>[] = [
  {
    name: 'there is one hint per job and key: a second push is merged into the first',
    async run(context) {
      const queue = await context.open()
      assert.deepEqual(await queue.push([hint('x')]), { added: 1, merged: 0, dropped: 0 })
      assert.deepEqual(await queue.push([hint('x')]), { added: 0, merged: 1, dropped: 0 })
      assert.deepEqual(await queue.push([hint('x', { fresh: false })]), { added: 0, merged: 1, dropped: 0 })
      assert.deepEqual(await drain(queue), [{ job: 'a', key: 'x', fresh: true }])
    },
  },
  {
    name: 'the same key of two jobs is two hints',
    async run(context) {
      const queue = await context.open()
      const pushed = await queue.push([hint('x', { job: 'a' }), hint('x', { job: 'b' })])
      assert.deepEqual(pushed, { added: 2, merged: 0, dropped: 0 })
      assert.deepEqual((await drain(queue, ['a', 'b'])).map(({ job }) => job).sort(), ['a', 'b'])
    },
  },
  {
    name: 'a pop removes the hint, and its key can be pushed again',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x')])
      assert.equal((await pop(queue)).length, 1)
      assert.deepEqual(await pop(queue), [])
      assert.deepEqual(await queue.push([hint('x')]), { added: 1, merged: 0, dropped: 0 })
      assert.equal((await pop(queue)).length, 1)
    },
  },
  {
    name: 'a fresh push makes a delayed hint of a sweep sooner and moves it to the fresh lane',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x', { delayMs: hourMs, fresh: false })])
      assert.deepEqual(await queue.push([hint('x')]), { added: 0, merged: 1, dropped: 0 })
      assert.deepEqual(await drain(queue), [{ job: 'a', key: 'x', fresh: true }])
      assert.deepEqual((await queue.count(['a'])).get('a'), { due: 0, delayed: 0 })
    },
  },
  {
    name: 'a fresh push makes a delayed fresh hint sooner, also when it is delayed itself',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x', { delayMs: hourMs })])
      await queue.push([hint('x', { delayMs: 50 })])
      assert.deepEqual(await next(context, queue), { job: 'a', key: 'x', fresh: true })
      assert.deepEqual((await queue.count(['a'])).get('a'), { due: 0, delayed: 0 })
    },
  },
  {
    name: 'a fresh push never makes a hint later',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('fresh'), hint('swept', { fresh: false })])
      const again = [hint('fresh', { delayMs: hourMs }), hint('swept', { delayMs: hourMs })]
      assert.deepEqual(await queue.push(again), { added: 0, merged: 2, dropped: 0 })
      assert.deepEqual(sortedKeys(await drain(queue)), ['fresh', 'swept'])
    },
  },
  {
    name: 'a fresh push moves a due hint of a sweep to the fresh lane, where it is popped once',
    async run(context) {
      const queue = await context.open()
      await queue.push(hints(20, { fresh: false }))
      await queue.push([hint('k19')])
      assert.deepEqual(await pop(queue, 1), [{ job: 'a', key: 'k19', fresh: true }])
      assert.deepEqual(sortedKeys(await drain(queue)), sortedKeys(hints(19)))
    },
  },
  {
    name: "a sweep's push leaves an existing hint alone: neither sooner nor into another lane",
    async run(context) {
      const queue = await context.open()
      await queue.push([
        hint('delayed', { delayMs: hourMs }),
        hint('swept', { delayMs: hourMs, fresh: false }),
        hint('due'),
      ])
      const again = ['delayed', 'swept', 'due'].map((key) => hint(key, { fresh: false }))
      assert.deepEqual(await queue.push(again), { added: 0, merged: 3, dropped: 0 })
      assert.deepEqual(await drain(queue), [{ job: 'a', key: 'due', fresh: true }])
      assert.deepEqual((await queue.count(['a'])).get('a'), { due: 0, delayed: 2 })
    },
  },
  {
    name: 'a push of many tells for each hint whether it was added or merged',
    async run(context) {
      const queue = await context.open()
      await queue.push(hints(400))
      assert.deepEqual(await queue.push(hints(1_000)), { added: 600, merged: 400, dropped: 0 })
      assert.equal((await drain(queue)).length, 1_000)
    },
  },
  {
    name: 'a push of nothing changes nothing',
    async run(context) {
      const queue = await context.open()
      assert.deepEqual(await queue.push([]), { added: 0, merged: 0, dropped: 0 })
      assert.deepEqual(await pop(queue), [])
    },
  },
]
