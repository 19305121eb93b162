// Rules of the mark (M41): it is only ever created on purpose, travels with every pop, and is lost with the hints.
import assert from 'node:assert/strict'
import type { Queue } from '../../queue/queue.ts'
import type { Case } from '../suite.ts'
import { hint, type QueueContext } from './context.ts'

const markOf = async (queue: Queue) => (await queue.pop({ jobs: [{ job: 'a', limit: 10 }], limit: 10, waitMs: 0 })).mark

export const canaryCases: readonly Case<QueueContext>[] = [
  {
    name: 'a new queue has no mark, and moving one that is not there neither creates it nor claims to',
    async run(context) {
      const queue = await context.open()
      assert.equal(await markOf(queue), null)
      assert.equal(await queue.advanceMark({ epoch: 1, sequence: 1 }), null)
      assert.equal(await markOf(queue), null)
    },
  },
  {
    name: 'a written mark comes back with every pop, with hints and without',
    async run(context) {
      const queue = await context.open()
      await queue.setMark({ epoch: 3, sequence: 7 })
      assert.deepEqual(await markOf(queue), { epoch: 3, sequence: 7 })
      await queue.push([hint('x')])
      assert.deepEqual(await markOf(queue), { epoch: 3, sequence: 7 })
      await queue.setMark({ epoch: 4, sequence: 0 })
      assert.deepEqual(await markOf(queue), { epoch: 4, sequence: 0 })
    },
  },
  {
    name: 'a mark that is not behind is raised past what is known, in numbers of any size, and every process sees it',
    async run(context) {
      const queue = await context.open()
      const other = await context.another()
      const epoch = 1_900_000_000_000
      await queue.setMark({ epoch, sequence: Number.MAX_SAFE_INTEGER - 3 })
      const known = { epoch, sequence: Number.MAX_SAFE_INTEGER - 4 }
      assert.deepEqual(await other.advanceMark(known), { epoch, sequence: Number.MAX_SAFE_INTEGER - 3 })
      assert.deepEqual(await markOf(queue), { epoch, sequence: Number.MAX_SAFE_INTEGER - 3 }, 'never lowered')
      await other.advanceMark({ epoch, sequence: Number.MAX_SAFE_INTEGER - 3 })
      assert.deepEqual(await markOf(queue), { epoch, sequence: Number.MAX_SAFE_INTEGER - 2 })
      assert.deepEqual(await markOf(other), { epoch, sequence: Number.MAX_SAFE_INTEGER - 2 })
    },
  },
  {
    name: 'a mark that is behind or of another epoch is shown and left as it is: it is the sign of an old copy',
    async run(context) {
      const queue = await context.open()
      const old = { epoch: 2, sequence: 5 }
      await queue.setMark(old)
      for (const known of [
        { epoch: 2, sequence: 6 },
        { epoch: 3, sequence: 0 },
        { epoch: 1, sequence: 1 },
      ]) {
        assert.deepEqual(await queue.advanceMark(known), old)
        assert.deepEqual(await markOf(queue), old)
      }
    },
  },
  {
    name: 'a wipe removes the mark: that is how a loss is seen',
    async run(context) {
      const queue = await context.open()
      await queue.setMark({ epoch: 1, sequence: 1 })
      await queue.wipe()
      assert.equal(await markOf(queue), null)
      assert.equal(await queue.advanceMark({ epoch: 1, sequence: 2 }), null)
    },
  },
  {
    name: 'swept hints that are meant for another epoch, or for a queue that has its mark, are not taken; fresh ones are',
    async run(context) {
      const queue = await context.open()
      const hints = [hint('swept', { fresh: false }), hint('fresh')]
      const refused = async (epoch: number) => {
        const { added, merged, dropped, lost = 0 } = await queue.push(hints, { epoch })
        assert.deepEqual({ added, merged, dropped, lost }, { added: 1, merged: 0, dropped: 0, lost: 1 })
        assert.equal(await queue.wipe(), 1)
      }
      await refused(1)
      await queue.setMark({ epoch: 2, sequence: 5 })
      await refused(1)
      await queue.setMark({ epoch: 2, sequence: 5 })
      assert.equal((await queue.push(hints, { epoch: 2 })).added, 2)
      assert.equal((await queue.push([hint('any', { fresh: false })])).added, 1, 'no epoch, no question')
    },
  },
  {
    name: 'popping and pushing leave the mark alone',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x'), hint('y')])
      await markOf(queue)
      assert.equal(await queue.advanceMark({ epoch: 1, sequence: 1 }), null)
      assert.equal(await queue.wipe(), 0)
    },
  },
]
