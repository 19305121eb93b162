// Processes that sleep for many leases and wake up where they were, as on a laptop that was closed, in virtual time.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { compose } from '../../src/app/regrow.ts'
import { sql } from '../../src/index.ts'
import { Process } from '../sim/process.ts'
import { seededRandom } from '../sim/seeded-random.ts'
import { Ear, openPglite, World } from './world.ts'

let db: PGlite
let world: World
let queue: ReturnType<World['queue']>

beforeAll(async () => {
  db = await openPglite(`
    create table things (id text primary key, state text not null default 'pending');
    create table effects (id text not null, name text not null)`)
})
beforeEach(async () => {
  world = await World.begin(db, 'things', 'effects')
  queue = world.queue()
})
afterAll(() => db.close())

const tenLeasesMs = 150_000

/** A worker that can be frozen; its handlers take 20 s, and go on sleeping with it. */
async function start(name: string, seed: number) {
  const process = new Process(world.clock, Number.POSITIVE_INFINITY)
  const clock = process.clock()
  const app = compose(
    { store: process.store(world.store()), queue: process.queue(() => queue), log: false },
    { clock, random: seededRandom(seed) },
  )
  const ear = new Ear(app, world.clock.now)
  const job = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '1h' },
    async run(id, ctx) {
      await clock.sleep(20_000)
      await ctx.tx(async (tx) => {
        await tx.query(`insert into effects values ($1, $2)`, [id, name])
        await tx.query(`update things set state = 'done' where id = $1`, [id])
      })
    },
  })
  const worker = await world.work(app, { concurrency: 3 })
  const give = async (...ids: string[]) => {
    await world.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(ids)])
    await job.enqueueMany(ids)
    await world.until(() => ids.every((key) => ear.of('job.started', { key }).length === 1))
  }
  return { process, ear, give, worker }
}
const effects = () => world.query(`select id, name from effects order by id`)
const holders = () => world.query<{ id: string }>(`select id from regrow.workers order by id`)

test('when all sleep for ten leases and wake up, nobody is freed, and what ran goes on', async () => {
  const one = await start('one', 1)
  await one.give('a', 'b', 'c')
  const two = await start('two', 2)
  await two.give('d', 'e', 'f')
  const before = await holders()
  for (const { process } of [one, two]) process.freeze()
  await world.pass(tenLeasesMs)
  expect(await effects()).toEqual([])
  for (const { process } of [one, two]) process.thaw()
  await world.until(async () => (await effects()).length === 6, 30_000)
  await world.pass(20_000)
  expect(await effects()).toEqual(
    [...'abc'].map((id) => ({ id, name: 'one' })).concat([...'def'].map((id) => ({ id, name: 'two' }))),
  )
  for (const { ear } of [one, two]) {
    expect([ear.of('worker.freed'), ear.of('worker.gone'), ear.of('job.lease_lost')]).toEqual([[], [], []])
    expect(ear.of('job.started')).toHaveLength(3)
  }
  expect(await holders()).toEqual(before)
  expect(await world.query(`select * from regrow.ledger`)).toEqual([])
})

test('who slept while another worked finds its keys done, discards its results, and goes on under a new identity', async () => {
  const sleeper = await start('sleeper', 1)
  await sleeper.give('a', 'b', 'c')
  const before = await holders()
  const awake = await start('awake', 2)
  sleeper.process.freeze()
  await world.pass(tenLeasesMs)
  expect(await effects()).toEqual([...'abc'].map((id) => ({ id, name: 'awake' })))
  expect(awake.ear.of('worker.freed')).toEqual([{ workers: 1, keys: 3 }])
  expect(awake.ear.of('job.started').map(({ attempt }) => attempt)).toEqual([2, 2, 2])
  sleeper.process.thaw()
  await world.until(() => sleeper.ear.of('worker.gone').length === 1, 5_000)
  expect(sleeper.ear.of('worker.gone')).toEqual([{ holder: before[0]?.id }])
  await world.until(() => sleeper.ear.of('job.lease_lost').length === 3, 5_000)
  await world.over(awake.worker.stop())
  await sleeper.give('d', 'e', 'f')
  expect((await holders()).map(({ id }) => id)).not.toContain(before[0]?.id)
  await world.until(() => sleeper.ear.of('job.settled').length === 3, 30_000)
  expect((await effects()).slice(3)).toEqual([...'def'].map((id) => ({ id, name: 'sleeper' })))
  expect(await world.query(`select * from regrow.ledger`)).toEqual([])
})
