// Rules of giving back: a release counts nothing, and forgets only what was nothing but a claim.
import assert from 'node:assert/strict'
import type { Claim } from '../../store/ledger.ts'
import type { Case } from '../suite.ts'
import { answers, fail, jobName, liveKeys, type StoreContext, take, verdict, worker } from './context.ts'

export const releaseCases: readonly Case<StoreContext>[] = [
  {
    name: 'a released key that had no history leaves nothing behind and can be taken at once',
    async run(context) {
      const [one, two] = [await worker(context, 'w1'), await worker(context, 'w2')]
      const list = await take(context, one, ['x', 'y'])
      await context.store.ledger.release(one, list)
      assert.deepEqual(await context.store.ledger.standing(jobName, ['x', 'y']), [])
      assert.equal(await verdict(context, two, 'x'), 'taken')
    },
  },
  {
    name: 'a released key keeps the failures it had, and none is added',
    async run(context) {
      const [one, two] = [await worker(context, 'w1'), await worker(context, 'w2')]
      await fail(context, one, 'x', { failures: 3, crashes: 1, version: 'v1', retryMs: 1_000 })
      await context.pass(1_000)
      await context.store.ledger.release(one, await take(context, one, ['x']))
      const found = (await answers(context, two, ['x'])).get('x')
      assert.deepEqual([found?.verdict, found?.failures, found?.crashes, found?.version], ['taken', 3, 1, 'v1'])
    },
  },
  {
    name: 'a release with another take number or of another holder gives nothing back',
    async run(context) {
      const [one, two] = [await worker(context, 'w1'), await worker(context, 'w2')]
      const [claim] = (await take(context, one, ['x'])) as [Claim]
      await context.store.ledger.release(one, [{ ...claim, take: claim.take + 1_000 }])
      await context.store.ledger.release(two, [claim])
      assert.deepEqual(await liveKeys(context, ['x']), ['x'])
    },
  },
  {
    name: 'a release of many gives back those that are held, in any order, and one of none does nothing',
    async run(context) {
      const one = await worker(context, 'w1')
      const list = await take(context, one, ['c', 'a', 'b'])
      await context.store.ledger.release(one, [])
      await context.store.ledger.release(one, [list[1] as Claim, { ...(list[0] as Claim), take: 0 }, list[2] as Claim])
      assert.deepEqual(await liveKeys(context, ['a', 'b', 'c']), ['c'])
    },
  },
]
