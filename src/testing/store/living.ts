// Rules of life and death: who beats keeps his claims, who does not is freed, and after a silence of all nobody is.
import assert from 'node:assert/strict'
import type { Claim } from '../../store/ledger.ts'
import type { Case } from '../suite.ts'
import {
  answers,
  fail,
  jobName,
  leaseMs,
  live,
  liveKeys,
  outcome,
  type StoreContext,
  settle,
  take,
  verdict,
  worker,
} from './context.ts'

/** `dead` falls silent with these keys while `other` beats on for two leases; what free says of it. */
async function silence(context: StoreContext, keys: readonly string[]): Promise<Claim[]> {
  await worker(context, 'dead')
  await worker(context, 'other')
  const list = await take(context, 'dead', keys)
  await live(context, ['other'], 2 * leaseMs)
  return list
}

export const livingCases: readonly Case<StoreContext>[] = [
  {
    name: 'a registered worker is alive, one that never registered or left is not',
    async run({ store, ...context }) {
      const full = { store, ...context }
      await worker(full, 'w1')
      await worker(full, 'w1')
      assert.equal((await store.workers.beat('w1', [], 0, leaseMs)).alive, true)
      assert.equal((await store.workers.beat('w2', [], 0, leaseMs)).alive, false)
      await store.workers.leave('w1')
      assert.equal((await store.workers.beat('w1', [], 0, leaseMs)).alive, false)
    },
  },
  {
    name: 'who works is shown until he leaves, with the number of keys he holds, and silent after a lease',
    async run(context) {
      await worker(context, 'w1')
      await worker(context, 'w2')
      await take(context, 'w1', ['a', 'b'])
      const shown = async () =>
        (await context.store.status.workers(leaseMs))
          .map(({ id, running, live }) => ({ id, running, live }))
          .sort((one, other) => one.id.localeCompare(other.id))
      assert.deepEqual(await shown(), [
        { id: 'w1', running: 2, live: true },
        { id: 'w2', running: 0, live: true },
      ])
      await live(context, ['w1'], 2 * leaseMs)
      assert.deepEqual((await shown())[1], { id: 'w2', running: 0, live: false })
      await context.store.workers.leave('w2')
      assert.deepEqual(
        (await shown()).map(({ id }) => id),
        ['w1'],
      )
    },
  },
  {
    name: 'a drain that leaves notes when its jobs were drained; a worker that leaves notes nothing',
    async run(context) {
      const { sweeps, status, workers } = context.store
      await sweeps.declare(['a', 'b'].map((job) => ({ job, everyMs: 60_000 })))
      const drained = async () => (await status.jobs(leaseMs)).jobs.map(({ job, drainedAt }) => [job, drainedAt])
      await worker(context, 'w1')
      await workers.leave('w1')
      assert.deepEqual(await drained(), [
        ['a', null],
        ['b', null],
      ])
      await worker(context, 'w2')
      await workers.leave('w2', ['b'])
      const first = (await drained())[1]?.[1] as Date
      assert.equal(first.getTime(), Math.floor(await status.time()))
      await worker(context, 'w3')
      await context.database.pass(1_000)
      await workers.leave('w3', ['b', 'a'])
      assert.deepEqual(
        (await drained()).map(([, at]) => (at as Date).getTime() - first.getTime()),
        [1_000, 1_000],
      )
    },
  },
  {
    name: 'a beat tells how many slots are stuck, until another one tells otherwise',
    async run(context) {
      await worker(context, 'w1')
      const shown = async () => (await context.store.status.workers(leaseMs)).map(({ stuck }) => stuck)
      assert.deepEqual(await shown(), [0])
      await context.store.workers.beat('w1', [], 0, leaseMs, 3)
      assert.deepEqual(await shown(), [3])
      await context.store.workers.beat('w1', [], 0, leaseMs)
      assert.deepEqual(await shown(), [0])
    },
  },
  {
    name: 'a beat gives back claims of takes that are neither known nor newer than its list',
    async run(context) {
      await worker(context, 'w1')
      await worker(context, 'w2')
      const [lost, known, last, newer] = await take(context, 'w1', ['lost', 'known', 'last', 'newer'])
      await take(context, 'w2', ['foreign'])
      assert.ok(lost && known && last && newer)
      const answer = await context.store.workers.beat('w1', [known.take], last.take, leaseMs)
      assert.deepEqual(answer, { alive: true, givenBack: 2 })
      const keys = ['lost', 'known', 'last', 'newer', 'foreign']
      assert.deepEqual(await liveKeys(context, keys), ['foreign', 'known', 'newer'])
    },
  },
  {
    name: 'what a beat gives back counts nothing and keeps what the key had',
    async run(context) {
      await worker(context, 'w1')
      await fail(context, 'w1', 'failed', { failures: 3, crashes: 1, version: 'v1', retryMs: 0 })
      const [, last] = await take(context, 'w1', ['failed', 'new'])
      await context.store.workers.beat('w1', [], (last as Claim).take, leaseMs)
      assert.deepEqual(
        (await context.store.ledger.standing(jobName, ['new', 'failed'])).map(({ key }) => key),
        ['failed'],
      )
      const found = (await answers(context, 'w1', ['failed'])).get('failed')
      assert.deepEqual([found?.verdict, found?.failures, found?.crashes], ['taken', 3, 1])
    },
  },
  {
    name: 'claims of a holder that was silent for a lease are freed, counted as crashes and named',
    async run(context) {
      await silence(context, ['x', 'y'])
      const { workers, keys } = await context.store.workers.free(leaseMs)
      assert.equal(workers, 1)
      assert.deepEqual(keys.map(({ job, key }) => `${job}/${key}`).sort(), ['a/x', 'a/y'])
      const found = (await answers(context, 'other', ['x'])).get('x')
      assert.deepEqual([found?.verdict, found?.crashes, found?.failures], ['taken', 1, 0])
      assert.deepEqual(await context.store.workers.free(leaseMs), { workers: 0, keys: [], pardoned: [] })
    },
  },
  {
    name: 'a silence shorter than the lease frees nobody, and who beats is never freed',
    async run(context) {
      await worker(context, 'w1')
      await worker(context, 'w2')
      await take(context, 'w1', ['x'])
      await live(context, ['w1', 'w2'], 3 * leaseMs)
      await live(context, ['w2'], 0.8 * leaseMs)
      assert.deepEqual(await context.store.workers.free(leaseMs), { workers: 0, keys: [], pardoned: [] })
      assert.equal((await context.store.workers.beat('w1', [], 0, leaseMs)).alive, true)
    },
  },
  {
    name: 'a freed worker learns it from its beat, and its settle, release and take change nothing',
    async run(context) {
      const [claim] = (await silence(context, ['x'])) as [Claim]
      await context.store.workers.free(leaseMs)
      await take(context, 'other', ['x'])
      assert.equal((await context.store.workers.beat('dead', [claim.take], claim.take, leaseMs)).alive, false)
      assert.equal((await context.store.ledger.settle('dead', [outcome(claim)])).size, 0)
      await context.store.ledger.release('dead', [claim])
      assert.equal(await verdict(context, 'dead', 'y'), 'lease_lost')
      assert.deepEqual(await liveKeys(context, ['x', 'y']), ['x'])
    },
  },
  {
    name: 'claims whose holder has no row are freed too: its take may have come after its end',
    async run(context) {
      await worker(context, 'w1')
      await worker(context, 'w2')
      await take(context, 'w1', ['x'])
      await take(context, 'w2', ['y'])
      await live(context, ['w1', 'w2'], 2 * leaseMs)
      await context.store.workers.leave('w1')
      const { keys } = await context.store.workers.free(leaseMs)
      assert.deepEqual(
        keys.map(({ key }) => key),
        ['x'],
      )
      assert.deepEqual(await liveKeys(context, ['x', 'y']), ['y'])
    },
  },
  {
    name: 'after a time in which nobody beat, nobody is freed for a lease',
    async run(context) {
      await worker(context, 'w1')
      await worker(context, 'w2')
      await take(context, 'w1', ['x'])
      await live(context, ['w1', 'w2'], 2 * leaseMs)
      await context.pass(10 * leaseMs)
      assert.equal((await context.store.workers.beat('w2', [], 0, leaseMs)).alive, true)
      assert.deepEqual(await context.store.workers.free(leaseMs), { workers: 0, keys: [], pardoned: [] })
      await live(context, ['w2'], 0.9 * leaseMs)
      assert.deepEqual(await context.store.workers.free(leaseMs), { workers: 0, keys: [], pardoned: [] })
      await live(context, ['w2'], 0.2 * leaseMs)
      assert.equal((await context.store.workers.free(leaseMs)).workers, 1)
    },
  },
  {
    name: 'after a time in which nobody beat, nobody is freed before somebody has beaten again',
    async run(context) {
      await worker(context, 'w1')
      const [claim] = await take(context, 'w1', ['x'])
      await live(context, ['w1'], 2 * leaseMs)
      await context.pass(10 * leaseMs)
      assert.deepEqual(await context.store.workers.free(leaseMs), { workers: 0, keys: [], pardoned: [] })
      assert.equal((await context.store.workers.beat('w1', [claim?.take ?? 0], 0, leaseMs)).alive, true)
      await settle(context, 'w1', claim as Claim)
    },
  },
  {
    name: 'a worker that starts after such a time frees the dead a lease later, not at once',
    async run(context) {
      await worker(context, 'dead')
      await take(context, 'dead', ['x'])
      await context.pass(100 * leaseMs)
      await worker(context, 'new')
      assert.deepEqual((await context.store.workers.free(leaseMs)).keys, [])
      await live(context, ['new'], 1.1 * leaseMs)
      assert.deepEqual(
        (await context.store.workers.free(leaseMs)).keys.map(({ key }) => key),
        ['x'],
      )
    },
  },
]
