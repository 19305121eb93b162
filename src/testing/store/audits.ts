// Rules of the slow audit: what it is told, and that it forgets nothing that somebody has or that changed meanwhile.
import assert from 'node:assert/strict'
import type { Case } from '../suite.ts'
import { fail, jobName, type StoreContext, take, worker } from './context.ts'

const nothing = { forget: [], unseen: [], seen: [] }

async function remembered({ store }: StoreContext): Promise<string[]> {
  return (await store.audits.page(jobName, null, 100)).map(({ key }) => key)
}

export const auditsCases: readonly Case<StoreContext>[] = [
  {
    name: 'an audit pages through the rows of one job in key order, and tells what each one is',
    async run(context) {
      const { audits, ledger } = context.store
      await worker(context, 'w1')
      await fail(context, 'w1', 'b')
      await fail(context, 'w1', 'a', { state: 'quarantined' })
      await take(context, 'w1', ['c'])
      await take(context, 'w1', ['b'], 'other')
      await ledger.remember([])
      await context.pass(5_000)
      const rows = await audits.page(jobName, null, 2)
      assert.deepEqual(rows, [
        { key: 'a', waiting: false, idleMs: 5_000, unseenMs: null },
        { key: 'b', waiting: true, idleMs: 5_000, unseenMs: null },
      ])
      assert.deepEqual(
        (await audits.page(jobName, 'b', 2)).map(({ key, waiting }) => [key, waiting]),
        [['c', false]],
      )
    },
  },
  {
    name: 'what an audit did not see is noted, seen again is noted, and neither is a change of the row',
    async run(context) {
      const { audits } = context.store
      await worker(context, 'w1')
      await fail(context, 'w1', 'a')
      await context.pass(1_000)
      await audits.write(jobName, { ...nothing, unseen: ['a'] })
      await context.pass(500)
      assert.deepEqual(await audits.page(jobName, null, 9), [{ key: 'a', waiting: true, idleMs: 1_500, unseenMs: 500 }])
      await audits.write(jobName, { ...nothing, seen: ['a'] })
      assert.equal((await audits.page(jobName, null, 9))[0]?.unseenMs, null)
    },
  },
  {
    name: 'an audit forgets what was noted before, and nothing that is held, quarantined, seen again or of another job',
    async run(context) {
      const { audits } = context.store
      await worker(context, 'w1')
      for (const key of ['gone', 'held', 'seen']) await fail(context, 'w1', key, { retryMs: 0 })
      await fail(context, 'w1', 'bad')
      const list = ['gone', 'held', 'bad']
      await audits.write(jobName, { ...nothing, unseen: list })
      await context.database.own('ledger').update({ state: 'quarantined' }, { key: 'bad' })
      await take(context, 'w1', ['held'])
      assert.equal(await audits.write('other', { ...nothing, forget: [...list, 'seen'] }), 0)
      assert.equal(await audits.write(jobName, { ...nothing, forget: [...list, 'seen'] }), 1)
      assert.deepEqual(await remembered(context), ['bad', 'held', 'seen'])
    },
  },
  {
    name: 'a turn tells how long ago its job was audited',
    async run(context) {
      const { sweeps } = context.store
      await worker(context, 'w1')
      await sweeps.declare([{ job: jobName, everyMs: 60_000 }])
      const end = { cursor: null, nextMs: 0, error: null, seen: 0, pushed: 0, held: 0, tookMs: 0 }
      for (const [audited, expected] of [
        [false, null],
        [true, null],
        [false, 10_000],
        [false, 20_000],
      ] as const) {
        const { turns } = await sweeps.turn('w1', [jobName], 1)
        assert.deepEqual(
          turns.map(({ auditedMs }) => auditedMs),
          [expected],
        )
        if (turns[0]) await sweeps.end('w1', [{ turn: turns[0], end: { ...end, audited } }])
        await context.pass(10_000)
      }
    },
  },
]
