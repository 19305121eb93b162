// Rules of the settle, the fence (S3): outcomes are written only where holder and take match.
import assert from 'node:assert/strict'
import type { Claim } from '../../store/ledger.ts'
import type { Case } from '../suite.ts'
import {
  answers,
  fail,
  jobName,
  liveKeys,
  outcome,
  type StoreContext,
  settle,
  take,
  verdict,
  worker,
} from './context.ts'

/** A claim of `w1` on `x`, and another worker who wants it. */
async function held(context: StoreContext): Promise<{ claim: Claim; one: string; two: string }> {
  const [one, two] = [await worker(context, 'w1'), await worker(context, 'w2')]
  const [claim] = await take(context, one, ['x'])
  return { claim: claim as Claim, one, two }
}

export const settleCases: readonly Case<StoreContext>[] = [
  {
    name: 'success leaves nothing of the key behind, also of one that had failed',
    async run(context) {
      const { claim, one, two } = await held(context)
      await settle(context, one, claim, { state: 'retrying', failures: 4, retryMs: 0, error: 'e' })
      const [again] = await take(context, two, ['x'])
      await settle(context, two, again as Claim)
      assert.deepEqual(await context.store.ledger.standing(jobName, ['x']), [])
      assert.equal((await answers(context, one, ['x'])).get('x')?.failures, 0)
    },
  },
  {
    name: 'failure writes failures, crashes, version and the wait, and ends the claim',
    async run(context) {
      const { claim, one, two } = await held(context)
      const how = { failures: 2, crashes: 1, version: 'v3', retryMs: 5_000, error: 'broken' }
      await settle(context, one, claim, { state: 'retrying', ...how })
      const [standing] = await context.store.ledger.standing(jobName, ['x'])
      assert.deepEqual([standing?.live, standing?.quarantined, standing?.version], [false, false, 'v3'])
      assert.ok(Math.abs((standing?.waitMs ?? 0) - 5_000) < 5)
      await context.pass(5_000)
      const found = (await answers(context, two, ['x'])).get('x')
      assert.deepEqual([found?.verdict, found?.failures, found?.crashes], ['taken', 2, 1])
    },
  },
  {
    name: 'quarantine is written, and the claim is over',
    async run(context) {
      const { claim, one } = await held(context)
      await settle(context, one, claim, { state: 'quarantined', failures: 20, error: 'for good' })
      const [standing] = await context.store.ledger.standing(jobName, ['x'])
      assert.deepEqual([standing?.live, standing?.quarantined], [false, true])
    },
  },
  {
    name: 'a settle with another take number or of another holder writes nothing',
    async run(context) {
      const { claim, one, two } = await held(context)
      const { ledger } = context.store
      for (const state of ['done', 'retrying', 'quarantined'] as const) {
        const stale = outcome({ ...claim, take: claim.take + 1_000 }, { state, failures: 9, retryMs: 1 })
        assert.equal((await ledger.settle(one, [stale])).size, 0)
        assert.equal((await ledger.settle(two, [outcome(claim, { state, failures: 9, retryMs: 1 })])).size, 0)
      }
      assert.deepEqual(await liveKeys(context, ['x']), ['x'])
      await settle(context, one, claim)
    },
  },
  {
    name: 'a second settle of the same claim is discarded',
    async run(context) {
      const { claim, one, two } = await held(context)
      await settle(context, one, claim)
      await take(context, two, ['x'])
      assert.equal((await context.store.ledger.settle(one, [outcome(claim)])).size, 0)
      assert.deepEqual(await liveKeys(context, ['x']), ['x'])
    },
  },
  {
    name: 'a batch settles what is held and names exactly that',
    async run(context) {
      const { claim, one } = await held(context)
      const [y, z] = await take(context, one, ['y', 'z'])
      await settle(context, one, y as Claim)
      const rows = [outcome(y as Claim), outcome(claim), outcome(z as Claim, { state: 'retrying', retryMs: 1_000 })]
      const settled = await context.store.ledger.settle(one, rows)
      assert.deepEqual([...settled].sort(), [claim.take, (z as Claim).take].sort())
      assert.deepEqual(
        (await context.store.ledger.standing(jobName, ['x', 'y', 'z'])).map(({ key }) => key),
        ['z'],
      )
      assert.equal((await context.store.ledger.settle(one, [])).size, 0)
    },
  },
  {
    name: 'a settle in a transaction commits with it',
    async run(context) {
      const { claim, one } = await held(context)
      const effects = await context.database.create('effects', { key: 'text' })
      await context.store.transaction(async (tx, own) => {
        await effects.insert([{ key: 'x' }], own)
        assert.deepEqual([...(await context.store.ledger.settle(one, [outcome(claim)], tx))], [claim.take])
      })
      assert.deepEqual(await context.store.ledger.standing(jobName, ['x']), [])
      assert.equal((await effects.rows()).length, 1)
    },
  },
  {
    name: 'a settle is the last statement of a transaction: one claim that is not held, and nothing of it is committed',
    async run(context) {
      const { claim, one } = await held(context)
      const effects = await context.database.create('effects', { key: 'text' })
      const lost = { ...claim, key: 'z', take: context.nextTake() }
      const failing = context.store.transaction(async (tx, own) => {
        await effects.insert([{ key: 'x' }], own)
        const { size } = await context.store.ledger.settle(one, [outcome(claim), outcome(lost)], tx)
        if (size < 2) throw new Error('not all of them are held')
      })
      await assert.rejects(failing, /not all of them/)
      assert.deepEqual(await liveKeys(context, ['x']), ['x'])
      assert.equal((await effects.rows()).length, 0)
      await settle(context, one, claim)
    },
  },
  {
    name: 'a fence tells which claims are held and settles none of them',
    async run(context) {
      const { claim, one, two } = await held(context)
      const [y] = await take(context, two, ['y'])
      const asked = [claim, y as Claim, { ...claim, key: 'z', take: context.nextTake() }]
      const fenced = await context.store.transaction((tx) => context.store.ledger.fence(one, asked, tx))
      assert.deepEqual([...fenced], [claim.take])
      assert.deepEqual(await liveKeys(context, ['x', 'y']), ['x', 'y'])
      await settle(context, one, claim)
    },
  },
  {
    name: 'error texts of any content are kept whole and break nothing',
    async run(context) {
      const { claim, one } = await held(context)
      const error = `${`'"\\\n\u2028{}$1 % Ω👾`.repeat(400)}`.slice(0, 4_000)
      await settle(context, one, claim, { state: 'quarantined', failures: 1, error })
      assert.equal((await context.store.quarantine.find(jobName, 'x'))?.error, error)
      assert.equal(await verdict(context, one, 'x'), 'quarantined')
      await fail(context, one, 'y', { error: '' })
    },
  },
]
