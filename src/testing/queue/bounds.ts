// Rules of size: a full lane drops hints and counts them, and nobody else notices. The work is not lost, its row is there.
import assert from 'node:assert/strict'
import type { Case } from '../suite.ts'
import { drain, hint, hints, hourMs, pop, type QueueContext, sortedKeys } from './context.ts'

export const boundsCases: readonly Case<QueueContext>[] = [
  {
    name: 'hints over maxHints are dropped and counted, within one push and over several',
    async run(context) {
      const queue = await context.open({ maxHints: 10 })
      assert.deepEqual(await queue.push(hints(25)), { added: 10, merged: 0, dropped: 15 })
      assert.deepEqual(await queue.push(hints(3, {}, 'more')), { added: 0, merged: 0, dropped: 3 })
      assert.equal((await drain(queue)).length, 10)
    },
  },
  {
    name: 'maxHints is counted per job and lane: a full one stops nobody else',
    async run(context) {
      const queue = await context.open({ maxHints: 10 })
      await queue.push(hints(25, { fresh: false }))
      assert.equal((await queue.push(hints(8, { fresh: true }, 'fresh'))).added, 8)
      assert.equal((await queue.push(hints(8, { job: 'b', fresh: false }))).added, 8)
      assert.equal((await queue.push(hints(8, { delayMs: hourMs }, 'later'))).added, 8)
      assert.deepEqual((await queue.count(['a'])).get('a'), { due: 18, delayed: 8 })
    },
  },
  {
    name: 'a full lane takes hints again as it drains',
    async run(context) {
      const queue = await context.open({ maxHints: 10 })
      await queue.push(hints(10))
      assert.equal((await pop(queue, 4)).length, 4)
      assert.deepEqual(await queue.push(hints(10, {}, 'more')), { added: 4, merged: 0, dropped: 6 })
    },
  },
  {
    name: 'in a full lane a push of a key that is there is merged, not dropped',
    async run(context) {
      const queue = await context.open({ maxHints: 10 })
      await queue.push(hints(10))
      assert.deepEqual(await queue.push([hint('k3'), hint('new')]), { added: 0, merged: 1, dropped: 1 })
    },
  },
  {
    name: 'bounds are of what is added: into a full lane a fresh push still moves a hint that is there, or makes it sooner',
    async run(context) {
      const queue = await context.open({ maxHints: 2, maxDelayed: 2 })
      await queue.push([...hints(2, {}, 'now'), ...hints(2, { fresh: false }, 'swept')])
      await queue.push(hints(2, { delayMs: hourMs, fresh: false }, 'later'))
      const again = [hint('swept1'), hint('later1'), hint('later0', { delayMs: hourMs / 2 })]
      assert.deepEqual(await queue.push(again), { added: 0, merged: 3, dropped: 0 })
      assert.deepEqual((await queue.count(['a'])).get('a'), { due: 5, delayed: 1 })
      const fresh = (await drain(queue)).filter((each) => each.fresh)
      assert.deepEqual(sortedKeys(fresh), ['later1', 'now0', 'now1', 'swept1'])
    },
  },
  {
    name: 'delayed hints over maxDelayed are dropped and counted, per job; due ones are not affected',
    async run(context) {
      const queue = await context.open({ maxDelayed: 5 })
      assert.deepEqual(await queue.push(hints(8, { delayMs: hourMs })), { added: 5, merged: 0, dropped: 3 })
      const swept = await queue.push(hints(2, { delayMs: hourMs, fresh: false }, 'swept'))
      assert.deepEqual(swept, { added: 0, merged: 0, dropped: 2 })
      assert.equal((await queue.push(hints(8, { job: 'b', delayMs: hourMs }))).added, 5)
      assert.equal((await queue.push(hints(8, {}, 'due'))).added, 8)
      assert.deepEqual((await queue.count(['a'])).get('a'), { due: 8, delayed: 5 })
    },
  },
  {
    name: 'a push with a share of the bounds stops at that share, and leaves what is there alone',
    async run(context) {
      const queue = await context.open({ maxHints: 10, maxDelayed: 10 })
      assert.deepEqual(await queue.push(hints(8), { share: 0.5 }), { added: 5, merged: 0, dropped: 3 })
      assert.deepEqual(await queue.push(hints(8), { share: 0.2 }), { added: 0, merged: 5, dropped: 3 })
      assert.equal((await queue.push(hints(8, { delayMs: hourMs }, 'later'), { share: 0.5 })).added, 5)
      assert.deepEqual(await queue.push(hints(8), {}), { added: 3, merged: 5, dropped: 0 })
    },
  },
]
