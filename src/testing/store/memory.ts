// Rules of what the ledger remembers of a key that nobody holds: clear, remember, standing.
import assert from 'node:assert/strict'
import type { Claim } from '../../store/ledger.ts'
import type { Case } from '../suite.ts'
import { answers, fail, jobName, liveKeys, type StoreContext, settle, take, verdict, worker } from './context.ts'

const aside = (key: string, how: object = {}) => ({
  job: jobName,
  key,
  state: 'retrying' as const,
  version: 'v1',
  failures: 1,
  crashes: 0,
  retryMs: 30_000,
  error: 'put aside',
  ...how,
})

export const memoryCases: readonly Case<StoreContext>[] = [
  {
    name: 'another version clears back-off and quarantine, and the key starts without a history',
    async run(context) {
      const holder = await worker(context, 'w1')
      await fail(context, holder, 'later', { version: 'v1' })
      await fail(context, holder, 'bad', { version: 'v1', state: 'quarantined', failures: 20 })
      const cleared = await context.store.ledger.clear(jobName, [
        { key: 'later', version: 'v2' },
        { key: 'bad', version: 'v2' },
        { key: 'unknown', version: 'v2' },
      ])
      assert.deepEqual(cleared.sort(), ['bad', 'later'])
      const found = await answers(context, holder, ['later', 'bad'])
      for (const answer of found.values()) assert.deepEqual([answer.verdict, answer.failures], ['taken', 0])
    },
  },
  {
    name: 'the same version clears nothing, nor does any where the ledger knows none',
    async run(context) {
      const holder = await worker(context, 'w1')
      await fail(context, holder, 'same', { version: 'v1' })
      await fail(context, holder, 'none', { version: null })
      const rows = [
        { key: 'same', version: 'v1' },
        { key: 'none', version: 'v1' },
      ]
      assert.deepEqual(await context.store.ledger.clear(jobName, rows), [])
      assert.equal(await verdict(context, holder, 'same'), 'not_due')
    },
  },
  {
    name: 'a claim that is held is never cleared, whatever the version',
    async run(context) {
      const holder = await worker(context, 'w1')
      await fail(context, holder, 'x', { version: 'v1', retryMs: 0 })
      const [claim] = await take(context, holder, ['x'])
      assert.deepEqual(await context.store.ledger.clear(jobName, [{ key: 'x', version: 'v2' }]), [])
      await settle(context, holder, claim as Claim)
    },
  },
  {
    name: 'clearing one job leaves the same keys of another alone',
    async run(context) {
      const holder = await worker(context, 'w1')
      await fail(context, holder, 'x', { version: 'v1' })
      assert.deepEqual(await context.store.ledger.clear('b', [{ key: 'x', version: 'v2' }]), [])
      assert.deepEqual(await context.store.ledger.clear(jobName, []), [])
      assert.equal(await verdict(context, holder, 'x'), 'not_due')
    },
  },
  {
    name: 'what came of a run without a claim is remembered of a key that the ledger does not know',
    async run(context) {
      const holder = await worker(context, 'w1')
      const written = await context.store.ledger.remember([aside('x'), aside('y', { state: 'quarantined' })])
      assert.deepEqual(written.sort(), ['x', 'y'])
      const found = await answers(context, holder, ['x', 'y'])
      assert.deepEqual([found.get('x')?.verdict, found.get('y')?.verdict], ['not_due', 'quarantined'])
      await context.pass(30_000)
      assert.equal((await answers(context, holder, ['x'])).get('x')?.failures, 1)
    },
  },
  {
    name: 'what came of a run without a claim leaves alone what somebody else wrote',
    async run(context) {
      const holder = await worker(context, 'w1')
      const [claim] = await take(context, holder, ['held'])
      await fail(context, holder, 'failed', { failures: 7, retryMs: 0 })
      const written = await context.store.ledger.remember([aside('held'), aside('failed'), aside('new')])
      assert.deepEqual(written, ['new'])
      await settle(context, holder, claim as Claim)
      assert.equal((await answers(context, holder, ['failed'])).get('failed')?.failures, 7)
    },
  },
  {
    name: 'standing tells of each known key whether it is live, quarantined or waiting, and of others nothing',
    async run(context) {
      const holder = await worker(context, 'w1')
      await take(context, holder, ['held'])
      await fail(context, holder, 'later', { version: 'v1', retryMs: 8_000 })
      await fail(context, holder, 'bad', { state: 'quarantined', retryMs: 0 })
      const rows = await context.store.ledger.standing(jobName, ['held', 'later', 'bad', 'unknown'])
      const found = new Map(rows.map((row) => [row.key, row]))
      assert.equal(rows.length, 3)
      assert.deepEqual([found.get('held')?.live, found.get('held')?.quarantined], [true, false])
      assert.deepEqual([found.get('bad')?.live, found.get('bad')?.quarantined], [false, true])
      assert.equal(found.get('later')?.version, 'v1')
      assert.ok(Math.abs((found.get('later')?.waitMs ?? 0) - 8_000) < 5)
      assert.deepEqual(await context.store.ledger.standing('b', ['held']), [])
      assert.deepEqual(await liveKeys(context, ['held', 'later', 'bad']), ['held'])
    },
  },
]
