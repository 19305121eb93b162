// What a person is told of each job, from regrow's own tables.
import assert from 'node:assert/strict'
import type { JobRow } from '../../store/status.ts'
import type { Case } from '../suite.ts'
import { fail, leaseMs, live, type StoreContext, take, worker } from './context.ts'

async function told({ store }: StoreContext, job = 'a'): Promise<JobRow> {
  const found = (await store.status.jobs(leaseMs)).jobs.find((each) => each.job === job)
  assert.ok(found, `${job} is not told of`)
  return found
}

export const inspectorCases: readonly Case<StoreContext>[] = [
  {
    name: 'claims are without an owner when their worker is silent for longer than the lease, since its last beat',
    async run(context) {
      await worker(context, 'w1')
      await worker(context, 'w2')
      await take(context, 'w1', ['a', 'b'])
      await take(context, 'w2', ['c'])
      const silentSince = (await context.store.status.jobs(leaseMs)).at.getTime()
      await live(context, ['w2'], leaseMs)
      assert.equal((await told(context)).unowned, null)
      await context.pass(1)
      const { unowned, running, workers } = await told(context)
      assert.deepEqual([unowned?.count, unowned?.since.getTime()], [2, silentSince])
      assert.deepEqual([running, workers], [3, 1])
    },
  },
  {
    name: 'claims whose worker has no row are without an owner, too; those that failed and wait are not claims',
    async run(context) {
      await worker(context, 'w1')
      await take(context, 'w1', ['a'])
      await fail(context, 'w1', 'b')
      await context.database.own('workers').remove()
      assert.equal((await told(context)).unowned?.count, 1)
    },
  },
  {
    name: 'keys that failed because their row stayed pending are counted as without progress, others are not',
    async run(context) {
      await worker(context, 'w1')
      await fail(context, 'w1', 'a', { error: 'It failed. It ran and returned, but the row is still pending' })
      const stalled = { job: 'a', crashes: 0, retryMs: 1_000, version: '1' }
      await context.store.ledger.remember(
        (['retrying', 'quarantined'] as const).map((state) => ({
          ...stalled,
          key: state,
          state,
          failures: 1,
          error: `It ran and returned, but the row is still pending in version 1: the pending query of "a" still finds it`,
        })),
      )
      const { noProgress, retrying, quarantined } = await told(context)
      assert.deepEqual({ noProgress, retrying, quarantined }, { noProgress: 2, retrying: 2, quarantined: 1 })
    },
  },
  {
    name: 'slots that hand over are served by every live worker, whatever its jobs',
    async run(context) {
      await worker(context, 'w1')
      await worker(context, 'w2')
      await take(context, 'w1', ['s@1@2026-01-01T00:00:00.000Z'], 'regrow.slots')
      assert.equal((await told(context, 'regrow.slots')).workers, 2)
      await live(context, ['w2'], leaseMs + 1)
      assert.equal((await told(context, 'regrow.slots')).workers, 1)
    },
  },
  {
    name: 'a job that only intents, a pause or the ledger name is told of, without a sweep',
    async run(context) {
      const id = '00000000-0000-4000-8000-000000000001'
      await context.store.intents.record('intended', [{ id, input: '1', inMs: 0, atMs: null, uniqueKey: null }])
      await context.store.pauses.pause('paused', 'why', 'ann', null)
      const intended = await told(context, 'intended')
      assert.deepEqual([intended.intents, intended.sweep, intended.workers], [1, null, 0])
      const { pause, sweep, noProgress, unowned } = await told(context, 'paused')
      assert.deepEqual([pause?.reason, pause?.backlog, sweep, noProgress, unowned], ['why', null, null, 0, null])
    },
  },
]
