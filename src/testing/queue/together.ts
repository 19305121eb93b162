// Rules of many at once: every hint goes to exactly one popper, pushes do not disturb each other, and size is no matter.
import assert from 'node:assert/strict'
import type { PoppedHint } from '../../queue/hint.ts'
import type { PopQueue } from '../../queue/queue.ts'
import { Seeded } from '../seeded.ts'
import { type Case, within } from '../suite.ts'
import { drain, hints, pop, type QueueContext, sortedKeys } from './context.ts'

/** Pops until `enough` hints are found over all consumers; a consumer that finds nothing for a while gives up. */
async function consume(queue: PopQueue, found: PoppedHint[], enough: number, limit: number): Promise<void> {
  for (let empty = 0; found.length < enough && empty < 20; ) {
    const { hints: some } = await queue.pop({ jobs: [{ job: 'a', limit }], limit, waitMs: 250 })
    found.push(...some)
    empty = some.length === 0 ? empty + 1 : 0
  }
}

export const togetherCases: readonly Case<QueueContext>[] = [
  {
    name: 'several consumers at once never get the same hint, and together get every one',
    async run(context) {
      const queue = await context.open()
      const consumers = [queue, ...(await Promise.all([1, 2, 3].map(() => context.another())))]
      await queue.push(hints(1_000))
      await queue.push(hints(1_000, { fresh: false }, 'swept'))
      const found: PoppedHint[] = []
      await Promise.all(consumers.map((each, i) => consume(each, found, 2_000, 5 + 4 * i)))
      assert.deepEqual(sortedKeys(found), sortedKeys([...hints(1_000), ...hints(1_000, {}, 'swept')]))
    },
  },
  {
    name: 'processes that push the same keys at once, in any order, make one hint of each',
    async run(context) {
      const { seed, log } = context
      log(`pushes at once: seed ${seed}`)
      const random = new Seeded(seed)
      const queue = await context.open()
      const pushers = [queue, ...(await Promise.all([1, 2, 3].map(() => context.another())))]
      for (let round = 0; round < 5; round++) {
        const pushes = pushers.map((each) => each.push(random.shuffled(hints(300, { fresh: random.below(2) === 0 }))))
        const answers = await Promise.all(pushes)
        const sum = (what: 'added' | 'merged') => answers.reduce((all, answer) => all + answer[what], 0)
        assert.deepEqual([sum('added'), sum('merged')], [300, 900], `seed ${seed}, round ${round}`)
        assert.deepEqual(sortedKeys(await drain(queue)), sortedKeys(hints(300)), `seed ${seed}, round ${round}`)
      }
    },
  },
  {
    name: 'while some push and others pop, every hint comes out once',
    async run(context) {
      const queue = await context.open()
      const other = await context.another()
      const found: PoppedHint[] = []
      const pushing = [queue, other].map(async (each, i) => {
        for (let page = 0; page < 10; page++) await each.push(hints(100, { fresh: page % 2 === 0 }, `${i}.${page}.`))
      })
      const popping = [queue, other].map((each) => consume(each, found, 2_000, 33))
      await Promise.all([...pushing, ...popping])
      assert.equal(found.length, 2_000)
      assert.equal(new Set(found.map(({ key }) => key)).size, 2_000)
    },
  },
  {
    name: '30,000 hints go in and come out, each once',
    async run(context) {
      const queue = await context.open()
      const all = hints(30_000, { fresh: false }, '')
      const work = async () => {
        for (let at = 0; at < all.length; at += 1_000) {
          const { added } = await queue.push(all.slice(at, at + 1_000))
          assert.equal(added, 1_000, `at ${at}`)
        }
        assert.deepEqual((await queue.count(['a'])).get('a'), { due: 30_000, delayed: 0 })
        const seen = new Set<string>()
        for (let page = await pop(queue, 1_000); page.length > 0; page = await pop(queue, 1_000))
          for (const { key } of page) seen.add(key)
        assert.equal(seen.size, 30_000)
      }
      await within(context.clock, 50_000, '30,000 hints in and out', work())
    },
  },
]
