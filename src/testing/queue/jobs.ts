// Rules of a pop over several jobs: only those asked for, within their limits, and none starves; counting and wiping.
import assert from 'node:assert/strict'
import type { Case } from '../suite.ts'
import { drain, hint, hints, hourMs, pop, type QueueContext, sortedKeys } from './context.ts'

const by = (list: readonly { job: string }[], job: string) => list.filter((each) => each.job === job).length

export const jobsCases: readonly Case<QueueContext>[] = [
  {
    name: 'only hints of the jobs that were asked for are popped; the others wait',
    async run(context) {
      const queue = await context.open()
      await queue.push([...hints(5, { job: 'a' }), ...hints(5, { job: 'b' }), ...hints(5, { job: 'c' })])
      const popped = await drain(queue, ['a', 'c'])
      assert.deepEqual([by(popped, 'a'), by(popped, 'b'), by(popped, 'c')], [5, 0, 5])
      assert.equal((await drain(queue, ['b'])).length, 5)
    },
  },
  {
    name: 'a job that the queue has never seen, and no job at all, give nothing',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x')])
      assert.deepEqual(await pop(queue, 10, ['unheard-of']), [])
      assert.deepEqual((await queue.pop({ jobs: [], limit: 10, waitMs: 0 })).hints, [])
    },
  },
  {
    name: 'a pop keeps to the limit of each job and to the limit over all of them',
    async run(context) {
      const queue = await context.open()
      await queue.push(['a', 'b', 'c'].flatMap((job) => hints(10, { job })))
      const jobs = [
        { job: 'a', limit: 2 },
        { job: 'b', limit: 5 },
        { job: 'c', limit: 0 },
      ]
      const few = (await queue.pop({ jobs, limit: 4, waitMs: 0 })).hints
      assert.equal(few.length, 4)
      assert.ok(by(few, 'a') <= 2 && by(few, 'c') === 0)
      const many = (await queue.pop({ jobs, limit: 100, waitMs: 0 })).hints
      assert.deepEqual([by(many, 'a'), by(many, 'b'), by(many, 'c')], [2, 5, 0])
    },
  },
  {
    name: 'a pop of many returns all that is due when there is room for it',
    async run(context) {
      const queue = await context.open()
      await queue.push(hints(1_000))
      const popped = await pop(queue, 1_000)
      assert.deepEqual(sortedKeys(popped), sortedKeys(hints(1_000)))
      assert.deepEqual(await pop(queue), [])
    },
  },
  {
    // The worker names another job first at each pop; a queue may serve them in that order, or in a fairer one.
    name: 'a job whose hints never end does not keep those of a job that is named first in its turn',
    async run(context) {
      const queue = await context.open()
      await queue.push(hints(100, { job: 'endless' }, 'first'))
      await queue.push(hints(10, { job: 'quiet' }))
      let found = 0
      for (let round = 0; round < 60 && found < 10; round++) {
        const named = round % 2 === 0 ? ['endless', 'quiet'] : ['quiet', 'endless']
        found += by(await pop(queue, 10, named), 'quiet')
        await queue.push(hints(10, { job: 'endless' }, `round ${round} `))
      }
      assert.equal(found, 10, 'hints of the quiet job were not popped in 60 pops of 10')
    },
  },
  {
    name: 'count tells due and delayed hints by job, and zeros for a job without any',
    async run(context) {
      const queue = await context.open()
      await queue.push([...hints(3, { job: 'a' }), ...hints(2, { job: 'a', fresh: false }, 'swept')])
      await queue.push([...hints(4, { job: 'a', delayMs: hourMs }, 'later'), hint('x', { job: 'b', delayMs: hourMs })])
      const count = await queue.count(['a', 'b', 'c'])
      assert.deepEqual(count.get('a'), { due: 5, delayed: 4 })
      assert.deepEqual(count.get('b'), { due: 0, delayed: 1 })
      assert.deepEqual(count.get('c'), { due: 0, delayed: 0 })
      await drain(queue, ['a'])
      assert.deepEqual((await queue.count(['a'])).get('a'), { due: 0, delayed: 4 })
    },
  },
  {
    name: 'a hint that has come due counts as due',
    async run(context) {
      const queue = await context.open()
      await queue.push([hint('x', { delayMs: 50 }), hint('bell', { job: 'bell', delayMs: 100 })])
      const bell = { jobs: [{ job: 'bell', limit: 1 }], limit: 1, waitMs: 5_000 }
      assert.equal((await queue.pop(bell)).hints.length, 1)
      assert.deepEqual((await queue.count(['a'])).get('a'), { due: 1, delayed: 0 })
    },
  },
  {
    name: 'a job that is forgotten loses its hints, due or not, fresh or swept; other jobs and the mark stay',
    async run(context) {
      const queue = await context.open()
      if (!queue.forget) return
      const mark = { epoch: 3, sequence: 7 }
      await queue.setMark(mark)
      await queue.push([
        ...hints(7),
        ...hints(5, { job: 'b', fresh: false }),
        ...hints(3, { job: 'c', delayMs: hourMs }),
      ])
      assert.deepEqual([await queue.forget('a'), await queue.forget('c'), await queue.forget('none')], [7, 3, 0])
      assert.deepEqual((await queue.count(['c'])).get('c'), { due: 0, delayed: 0 })
      assert.equal((await drain(queue, ['a', 'b', 'c'])).length, 5)
      assert.deepEqual(await queue.advanceMark({ epoch: 3, sequence: 1 }), mark)
      assert.deepEqual(await queue.push([hint('k0')]), { added: 1, merged: 0, dropped: 0 })
    },
  },
  {
    name: 'a wipe destroys every hint of every job and tells how many there were',
    async run(context) {
      const queue = await context.open()
      await queue.push([
        ...hints(7),
        ...hints(5, { job: 'b', fresh: false }),
        ...hints(3, { job: 'c', delayMs: hourMs }),
      ])
      assert.equal(await queue.wipe(), 15)
      assert.deepEqual(await drain(queue, ['a', 'b', 'c']), [])
      assert.deepEqual((await queue.count(['c'])).get('c'), { due: 0, delayed: 0 })
      assert.equal(await queue.wipe(), 0)
      assert.deepEqual(await queue.push([hint('k0')]), { added: 1, merged: 0, dropped: 0 })
    },
  },
]
