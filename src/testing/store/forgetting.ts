// Rules of forgetting a job: all that the store holds of it goes in one step, or nothing does.
import assert from 'node:assert/strict'
import type { Case } from '../suite.ts'
import { fail, leaseMs, live, type StoreContext, take, worker } from './context.ts'

const job = 'gone'

const forget = ({ store }: StoreContext, all = false) => store.forgetting.forget(job, leaseMs, all, 'ann')

/** Rows of the job in each table, and of the job that stays. */
async function left({ database }: StoreContext, name = job): Promise<number[]> {
  const tables = ['sweeps', 'pauses', 'ledger', 'intents']
  const counts: number[] = []
  for (const table of tables) counts.push((await database.own(table).rows({ job: name })).length)
  return counts
}

/** A job that was swept, paused and tried, and another one beside it. */
async function traces(context: StoreContext): Promise<void> {
  await worker(context, 'w1')
  await context.store.sweeps.declare([job, 'a'].map((name) => ({ job: name, everyMs: 60_000 })))
  for (const name of [job, 'a']) await context.store.pauses.pause(name, 'why', 'ann', null)
  const rows = [job, 'a'].map((name) => ({ job: name, key: 'x', failures: 1, state: 'retrying' }))
  await context.database.own('ledger').insert(rows)
}

export const forgettingCases: readonly Case<StoreContext>[] = [
  {
    name: 'a job that is forgotten leaves nothing but a line in the audit; other jobs keep all they have',
    async run(context) {
      await traces(context)
      const { done, ...found } = await forget(context)
      assert.deepEqual(
        [done, found],
        [true, { live: 0, schedules: [], remembered: 1, quarantined: 0, intents: 0, swept: true, paused: true }],
      )
      assert.deepEqual(await left(context), [0, 0, 0, 0])
      assert.deepEqual(await left(context, 'a'), [1, 1, 1, 0])
      const told = () => context.database.own('audit').rows({ action: 'forget' })
      assert.deepEqual(
        (await told()).map((row) => [row.author, row.job]),
        [['ann', job]],
      )
      assert.deepEqual((await forget(context)).done, false)
      assert.equal((await told()).length, 1)
    },
  },
  {
    name: 'a job that a live worker declares is not forgotten, also by force; one of a dead worker is',
    async run(context) {
      await traces(context)
      await context.database.own('workers').update({ jobs: { json: { [job]: '' } } }, { id: 'w1' })
      await take(context, 'w1', ['held'])
      await context.database.own('ledger').update({ job }, { key: 'held' })
      for (const all of [false, true]) {
        const { done, live: alive } = await forget(context, all)
        assert.deepEqual([done, alive], [false, 1])
      }
      assert.deepEqual(await left(context), [1, 1, 2, 0])
      await worker(context, 'w2')
      await live(context, ['w2'], leaseMs + 1)
      const { done, remembered } = await forget(context)
      assert.deepEqual([done, remembered], [true, 2])
      assert.deepEqual(await left(context), [0, 0, 0, 0])
    },
  },
  {
    name: 'inputs and quarantined keys keep a job, unless all is to go',
    async run(context) {
      await traces(context)
      await fail(context, 'w1', 'y', { state: 'quarantined' })
      await context.database.own('ledger').update({ job }, { key: 'y' })
      await context.database
        .own('intents')
        .insert([{ id: '00000000-0000-4000-8000-000000000001', job, input: { json: {} }, created_at: { afterMs: 0 } }])
      const kept = await forget(context)
      assert.deepEqual([kept.done, kept.intents, kept.quarantined], [false, 1, 1])
      assert.deepEqual(await left(context), [1, 1, 2, 1])
      assert.equal((await forget(context, true)).done, true)
      assert.deepEqual(await left(context), [0, 0, 0, 0])
    },
  },
  {
    name: 'a job whose schedule has not ended is not forgotten',
    async run(context) {
      await traces(context)
      const [at, table] = [{ afterMs: 0 }, context.database.own('schedules')]
      await table.insert([
        {
          ...{
            name: 'nightly',
            job,
            lane: job,
            tz: 'UTC',
            missed: 'once',
            overlap: 'skip',
            jitter_ms: 0,
            declared: false,
          },
          ...{ from_at: at, created_at: at, seen_at: at, every_ms: 60_000 },
        },
      ])
      const { done, schedules } = await forget(context, true)
      assert.deepEqual([done, schedules], [false, ['nightly']])
      await table.update({ ended_at: at })
      assert.equal((await forget(context)).done, true)
    },
  },
  {
    name: 'a loss of the queue is healed without the job that is forgotten',
    async run(context) {
      await traces(context)
      const heals = context.database.own('heals')
      const loss = {
        queue: 'q',
        epoch: 2,
        at: { afterMs: 0 },
        how: 'missing',
        noticed_by: 'h:1',
        jobs_left: 1,
        pushed: 0,
      }
      await heals.insert([loss])
      const [heal] = await heals.rows()
      await context.database.own('sweeps').update({ heal: Number(heal?.id) }, { job })
      assert.equal((await forget(context)).done, true)
      assert.deepEqual(
        (await heals.rows()).map((row) => [row.jobs_left, row.ended_at !== null]),
        [[0, true]],
      )
    },
  },
]
