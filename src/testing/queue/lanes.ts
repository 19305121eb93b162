// Rules of the two lanes: fresh hints first, but a tenth of what is popped goes to the others.
import assert from 'node:assert/strict'
import type { PoppedHint } from '../../queue/hint.ts'
import type { Case } from '../suite.ts'
import { hints, pop, type QueueContext } from './context.ts'

const swept = (list: readonly PoppedHint[]) => list.filter(({ fresh }) => !fresh).length

/** Twice `each` hints: the swept ones were there first. */
async function both(context: QueueContext, each: number) {
  const queue = await context.open()
  await queue.push(hints(each, { fresh: false }, 'swept'))
  await queue.push(hints(each, { fresh: true }, 'fresh'))
  return queue
}

export const lanesCases: readonly Case<QueueContext>[] = [
  {
    name: 'fresh hints are popped before those of a sweep, though these were there first',
    async run(context) {
      const popped = await pop(await both(context, 20), 8)
      assert.equal(popped.length, 8)
      assert.ok(swept(popped) <= 2, `${swept(popped)} of 8 came from the sweep`)
    },
  },
  {
    name: 'a tenth of a big pop goes to the hints of sweeps',
    async run(context) {
      const popped = await pop(await both(context, 300), 200)
      assert.equal(popped.length, 200)
      assert.ok(swept(popped) >= 10 && swept(popped) <= 40, `${swept(popped)} of 200 came from the sweep, expected 20`)
    },
  },
  {
    name: 'a tenth of many pops of one goes to the hints of sweeps',
    async run(context) {
      const queue = await both(context, 200)
      const popped: PoppedHint[] = []
      for (let n = 0; n < 150; n++) popped.push(...(await pop(queue, 1)))
      assert.equal(popped.length, 150)
      assert.ok(swept(popped) >= 4 && swept(popped) <= 40, `${swept(popped)} of 150 came from the sweep, expected 15`)
    },
  },
  {
    name: 'where one lane is empty the other fills the pop',
    async run(context) {
      const queue = await context.open()
      await queue.push(hints(50, { fresh: false }))
      assert.equal((await pop(queue, 50)).length, 50)
      await queue.push(hints(50, { fresh: true }))
      assert.equal((await pop(queue, 50)).length, 50)
      await queue.push([...hints(30, { fresh: false }, 'swept'), ...hints(5, { fresh: true }, 'fresh')])
      assert.equal((await pop(queue, 35)).length, 35)
    },
  },
  {
    name: 'each popped hint says which lane it was in',
    async run(context) {
      const queue = await both(context, 5)
      const popped = await pop(queue, 10)
      assert.equal(popped.length, 10)
      for (const { key, fresh } of popped) assert.equal(fresh, key.startsWith('fresh'), key)
    },
  },
]
