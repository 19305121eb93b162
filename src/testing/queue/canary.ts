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
      assert.equal(await queue.moveMark({ epoch: 1, sequence: 1 }), false)
      assert.equal(await markOf(queue), null)
    },
  },
  {
    name: 'a written mark comes back with every pop, with hints and without',
    async run(context) {
      const queue = await context.open()
      await queue.writeMark({ epoch: 3, sequence: 7 })
      assert.deepEqual(await markOf(queue), { epoch: 3, sequence: 7 })
      await queue.push([hint('x')])
      assert.deepEqual(await markOf(queue), { epoch: 3, sequence: 7 })
      await queue.writeMark({ epoch: 4, sequence: 0 })
      assert.deepEqual(await markOf(queue), { epoch: 4, sequence: 0 })
    },
  },
  {
    name: 'a mark that is there is moved, in numbers of any size, and every process sees it',
    async run(context) {
      const queue = await context.open()
      const other = await context.another()
      await queue.writeMark({ epoch: 1, sequence: 1 })
      const far = { epoch: 1_900_000_000_000, sequence: Number.MAX_SAFE_INTEGER }
      assert.equal(await other.moveMark(far), true)
      assert.deepEqual(await markOf(queue), far)
      assert.deepEqual(await markOf(other), far)
    },
  },
  {
    name: 'a wipe removes the mark: that is how a loss is seen',
    async run(context) {
      const queue = await context.open()
      await queue.writeMark({ epoch: 1, sequence: 1 })
      await queue.wipe()
      assert.equal(await markOf(queue), null)
      assert.equal(await queue.moveMark({ epoch: 1, sequence: 2 }), false)
    },
  },
  {
    name: 'popping and pushing leave the mark alone',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x'), hint('y')])
      await markOf(queue)
      assert.equal(await queue.moveMark({ epoch: 1, sequence: 1 }), false)
      assert.equal(await queue.wipe(), 0)
    },
  },
]
