// Rules of the take: who may hold a key, and what is told of one that may not start.
import assert from 'node:assert/strict'
import { alikeKeys, hostileKeys } from '../queue/keys.ts'
import type { Case } from '../suite.ts'
import { answers, claims, fail, jobName, type StoreContext, settle, take, verdict, worker } from './context.ts'

export const takeCases: readonly Case<StoreContext>[] = [
  {
    name: 'a take puts the holder on keys that the ledger does not know',
    async run(context) {
      const found = await answers(context, await worker(context, 'w1'), ['x', 'y'])
      for (const key of ['x', 'y']) {
        const { verdict: said, failures, crashes, version } = found.get(key) ?? {}
        assert.deepEqual([said, failures, crashes, version], ['taken', 0, 0, null])
      }
    },
  },
  {
    name: 'a key that is held is live for every other holder, and for its own under another take number',
    async run(context) {
      const [one, two] = [await worker(context, 'w1'), await worker(context, 'w2')]
      await take(context, one, ['x'])
      assert.equal(await verdict(context, two, 'x'), 'running')
      assert.equal(await verdict(context, one, 'x'), 'running')
    },
  },
  {
    name: 'a refused take changes nothing: the first holder still settles',
    async run(context) {
      const [one, two] = [await worker(context, 'w1'), await worker(context, 'w2')]
      const [claim] = await take(context, one, ['x'])
      await verdict(context, two, 'x')
      await verdict(context, one, 'x')
      await settle(context, one, claim as never)
      assert.equal(await verdict(context, two, 'x'), 'taken')
    },
  },
  {
    name: 'a key in back-off is later, with the wait that is left, and is taken with its history when that is over',
    async run(context) {
      const holder = await worker(context, 'w1')
      await fail(context, holder, 'x', { failures: 3, crashes: 1, retryMs: 60_000, version: 'v7' })
      await context.pass(20_000)
      const later = (await answers(context, holder, ['x'])).get('x')
      assert.equal(later?.verdict, 'not_due')
      assert.ok(Math.abs(later.waitMs - 40_000) < 5, `waitMs is ${later.waitMs}`)
      assert.equal(later.version, 'v7', 'the check asks whether the version is still this one')
      await context.pass(40_000)
      const taken = (await answers(context, holder, ['x'])).get('x')
      assert.deepEqual([taken?.verdict, taken?.failures, taken?.crashes, taken?.version], ['taken', 3, 1, 'v7'])
    },
  },
  {
    name: 'a quarantined key is never taken, however much time passes',
    async run(context) {
      const holder = await worker(context, 'w1')
      await fail(context, holder, 'x', { state: 'quarantined', version: 'v1', retryMs: 0 })
      assert.equal(await verdict(context, holder, 'x'), 'quarantined')
      await context.pass(400 * 24 * 3_600_000)
      const found = (await answers(context, holder, ['x'])).get('x')
      assert.deepEqual([found?.verdict, found?.version], ['quarantined', 'v1'])
    },
  },
  {
    name: 'a holder that is not registered gets nothing, and nothing is written for it',
    async run(context) {
      const found = await answers(context, 'nobody', ['x', 'y'])
      assert.deepEqual(
        [...found.values()].map((answer) => answer.verdict),
        ['lease_lost', 'lease_lost'],
      )
      assert.deepEqual(await context.store.ledger.standing(jobName, ['x', 'y']), [])
    },
  },
  {
    name: 'one take answers for each of its keys by itself, whatever their order',
    async run(context) {
      const [one, two] = [await worker(context, 'w1'), await worker(context, 'w2')]
      await take(context, one, ['held'])
      await fail(context, one, 'later')
      await fail(context, one, 'bad', { state: 'quarantined' })
      const found = await answers(context, two, ['zz', 'later', 'bad', 'aa', 'held'])
      const said = Object.fromEntries([...found].map(([key, answer]) => [key, answer.verdict]))
      assert.deepEqual(said, { zz: 'taken', later: 'not_due', bad: 'quarantined', aa: 'taken', held: 'running' })
    },
  },
  {
    name: 'the same key of two jobs is two claims',
    async run(context) {
      const [one, two] = [await worker(context, 'w1'), await worker(context, 'w2')]
      await take(context, one, ['x'], 'a')
      await take(context, two, ['x'], 'b')
      const mixed = [...claims(context, ['x'], 'a'), ...claims(context, ['x'], 'b')]
      const found = await context.store.ledger.take(one, mixed)
      assert.deepEqual(found.map((answer) => [answer.job, answer.verdict]).sort(), [
        ['a', 'running'],
        ['b', 'running'],
      ])
    },
  },
  {
    name: 'hostile keys and keys that look alike are held and settled byte for byte',
    async run(context) {
      const holder = await worker(context, 'w1')
      const keys = [...new Set([...hostileKeys, ...alikeKeys])]
      const list = await take(context, holder, keys)
      const standing = await context.store.ledger.standing(jobName, keys)
      assert.deepEqual(new Set(standing.map(({ key }) => key)), new Set(keys))
      const held = await context.store.ledger.settle(
        holder,
        list.map((claim) => ({
          ...claim,
          state: 'quarantined' as const,
          version: claim.key,
          failures: 1,
          crashes: 0,
          retryMs: 0,
          error: claim.key,
          finish: null,
        })),
      )
      assert.equal(held.size, keys.length)
      const after = await answers(context, holder, keys)
      for (const key of keys) assert.deepEqual([after.get(key)?.verdict, after.get(key)?.version], ['quarantined', key])
    },
  },
  {
    name: 'a take of nothing answers nothing, and one of a thousand keys answers for all',
    async run(context) {
      const holder = await worker(context, 'w1')
      assert.deepEqual(await context.store.ledger.take(holder, []), [])
      const keys = Array.from({ length: 1_000 }, (_, i) => `k${i}`)
      await take(context, holder, keys)
      assert.equal((await context.store.ledger.standing(jobName, keys)).length, 1_000)
    },
  },
]
