// Rules of forgetting a job: all that the store holds of it goes in one step, or nothing does.
import assert from 'node:assert/strict'
import type { Case } from '../suite.ts'
import { fail, leaseMs, live, type StoreContext, take, worker } from './context.ts'

const job = 'gone'

const forget = ({ store }: StoreContext, all = false) => store.forgetting.forget(job, leaseMs, all, 'ann')

/** Rows of the job in each table, and of the job that stays. */
async function left({ query }: StoreContext, name = job): Promise<number[]> {
  const tables = ['sweeps', 'pauses', 'ledger', 'intents']
  const counts = tables.map((table) => `(select count(*)::int from regrow.${table} where job = '${name}') as ${table}`)
  const [row] = await query(`select ${counts.join(', ')}`)
  return tables.map((table) => Number(row?.[table]))
}

/** A job that was swept, paused and tried, and another one beside it. */
async function traces(context: StoreContext): Promise<void> {
  await worker(context, 'w1')
  await context.store.sweeps.declare([job, 'a'].map((name) => ({ job: name, everyMs: 60_000 })))
  for (const name of [job, 'a']) await context.store.pauses.pause(name, 'why', 'ann', null)
  for (const name of [job, 'a'])
    await context.query(`insert into regrow.ledger (job, key, failures, state) values ('${name}', 'x', 1, 'retrying')`)
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
      const told = await context.query(`select author, action, job from regrow.audit where action = 'forget'`)
      assert.deepEqual(told, [{ author: 'ann', action: 'forget', job }])
      assert.deepEqual((await forget(context)).done, false)
      assert.equal((await context.query(`select 1 as n from regrow.audit where action = 'forget'`)).length, 1)
    },
  },
  {
    name: 'a job that a live worker declares is not forgotten, also by force; one of a dead worker is',
    async run(context) {
      await traces(context)
      await context.query(`update regrow.workers set jobs = '{"${job}": ""}' where id = 'w1'`)
      await take(context, 'w1', ['held'])
      await context.query(`update regrow.ledger set job = '${job}' where key = 'held'`)
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
      await context.query(`update regrow.ledger set job = '${job}' where key = 'y'`)
      await context.query(
        `insert into regrow.intents (id, job, input, created_at) values ('00000000-0000-4000-8000-000000000001', '${job}', '{}', now())`,
      )
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
      await context.query(
        `insert into regrow.schedules (name, job, lane, tz, missed, overlap, jitter_ms, declared, from_at, created_at, seen_at, every_ms)
         values ('nightly', '${job}', '${job}', 'UTC', 'once', 'skip', 0, false, now(), now(), now(), 60000)`,
      )
      const { done, schedules } = await forget(context, true)
      assert.deepEqual([done, schedules], [false, ['nightly']])
      await context.query(`update regrow.schedules set ended_at = now()`)
      assert.equal((await forget(context)).done, true)
    },
  },
  {
    name: 'a loss of the queue is healed without the job that is forgotten',
    async run(context) {
      await traces(context)
      const [heal] = await context.query(
        `insert into regrow.heals (queue, epoch, at, how, noticed_by, jobs_left, pushed) values ('q', 2, regrow.clock(), 'missing', 'h:1', 1, 0) returning id`,
      )
      await context.query(`update regrow.sweeps set heal = ${Number(heal?.id)} where job = '${job}'`)
      assert.equal((await forget(context)).done, true)
      assert.deepEqual(await context.query(`select jobs_left, ended_at is not null as ended from regrow.heals`), [
        { jobs_left: 0, ended: true },
      ])
    },
  },
]
