// When a worker that starts sweeps: at once outside production, and everywhere what it declares differently than the worker before it.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sql } from '../../src/index.ts'
import type { MemoryQueue } from '../../src/queue/memory.ts'
import { openPglite, World } from './world.ts'

let db: PGlite
let world: World
let queue: MemoryQueue

beforeAll(async () => {
  db = await openPglite(`create table things (id text collate "C" primary key, state text not null default 'pending')`)
})
beforeEach(async () => {
  world = await World.begin(db, 'things')
  queue = world.queue()
})
afterAll(() => db.close())

const pendingOnly = sql`select id from things where state = 'pending'`
const paidToo = sql`select id from things where state in ('pending', 'paid')`

/** A worker of an app that has this pending query. */
async function working(pending: typeof pendingOnly) {
  const { app, ear } = world.app({}, queue)
  app.job('thing.make', {
    pending,
    async run(id, ctx) {
      await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
    },
  })
  const worker = await world.work(app)
  const stop = () => world.over(worker.stop({ grace: '1s' }))
  return { ear, stop, done: () => ear.of('job.settled', { state: 'done' }).length }
}

const insert = (id: string, state = 'pending') =>
  world.query(`insert into things (id, state) values ($1, $2)`, [id, state])

test('a restart outside production finds at once what nobody enqueued', async () => {
  world.production = false
  const first = await working(pendingOnly)
  await world.pass(5_000)
  await first.stop()
  await insert('a')
  const second = await working(pendingOnly)
  await world.until(() => second.done() === 1, 1_000)
})

test('a restart in production waits for the turn of the sweep', async () => {
  const first = await working(pendingOnly)
  await world.pass(5_000)
  await first.stop()
  await insert('a')
  const second = await working(pendingOnly)
  await world.pass(40_000)
  expect(second.ear.of('sweep.passed')).toEqual([])
  await world.until(() => second.done() === 1, 30_000)
})

test('a deploy with another pending query sweeps with it at once, also beside a worker with the old one, and once', async () => {
  const old = await working(pendingOnly)
  await world.pass(5_000)
  await insert('a', 'paid')
  const made = await working(paidToo)
  // Who pops the hint is another matter: the old worker does not find the row pending.
  expect(made.ear.of('sweep.passed')).toMatchObject([{ seen: 1, pushed: 1 }])
  expect(old.ear.of('sweep.passed')).toMatchObject([{ seen: 0 }])
  await old.stop()
  await made.stop()
  await insert('b', 'paid')
  const again = await working(paidToo)
  await world.pass(5_000)
  expect(again.ear.of('sweep.passed')).toEqual([])
  expect(again.done()).toBe(0)
})
