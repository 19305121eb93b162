// The store is away for a minute, several leases: nobody is declared dead for it, and everything that runs goes on.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sql } from '../../src/index.ts'
import { Faults } from '../sim/faults.ts'
import { openPglite, World } from './world.ts'

let db: PGlite
let world: World

beforeAll(async () => {
  db = await openPglite(`
    create table things (id text primary key, state text not null default 'pending');
    create table effects (id text not null)`)
})
beforeEach(async () => {
  world = await World.begin(db, 'things', 'effects')
})
afterAll(() => db.close())

const awayMs = 60_000
const keys = Array.from({ length: 9 }, (_, i) => `k${i + 1}`)

/** A worker of its own process, with its own way to the store; three keys at a time. */
async function process(queue: ReturnType<World['queue']>, seen: string[]) {
  const faults = new Faults()
  const { app, ear } = world.app({ store: faults.store(world.store()) }, queue)
  app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '1h' },
    async run(id, ctx) {
      seen.push(id)
      // Every second one ends while the store is away: its outcome waits for the store.
      const early = Number(id.slice(1)) % 2 === 0
      await world.clock.sleep(early ? 25_000 : 100_000)
      if (early)
        await world.query(
          `with e as (insert into effects values ($1)) update things set state = 'done' where id = $1`,
          [id],
        )
      else
        await ctx.tx(async (tx) => {
          await tx.query(`insert into effects values ($1)`, [id])
          await tx.query(`update things set state = 'done' where id = $1`, [id])
        })
    },
  })
  const worker = await world.work(app, { concurrency: 3 })
  return { faults, ear, worker }
}

type Return = (three: readonly { faults: Faults }[]) => Promise<void>
const back = (faults: Faults) => {
  faults.refused = () => false
}

/** Ways in which the store comes back. */
const returns: Record<string, Return> = {
  'for all at once': async (three) => {
    for (const { faults } of three) back(faults)
  },
  'for one before the others': async (three) => {
    for (const { faults } of three) {
      back(faults)
      await world.pass(1_000)
    }
  },
  'for everything before it hears a beat': async (three) => {
    for (const { faults } of three) faults.refused = (call) => call === 'workers.beat'
    await world.pass(13_000)
    for (const { faults } of three) back(faults)
  },
}

test.each(Object.entries(returns))(
  'a store that is away for 60 s and comes back %s: nobody steals, and what runs goes on (M43)',
  async (_, comesBack) => {
    const queue = world.queue()
    const seen: string[] = []
    const three = [await process(queue, seen), await process(queue, seen), await process(queue, seen)]
    await world.query(`insert into things (id) select 'k' || n from generate_series(1, 9) n`)
    await queue.push(keys.map((key) => ({ job: 'thing.make', key, delayMs: 0, fresh: true })))
    await world.until(() => seen.length === 9)
    await world.pass(5_000)
    const [claimed] = await world.query(`select count(distinct holder)::int as n from regrow.ledger`)
    expect(claimed).toEqual({ n: 3 })
    for (const { faults } of three) faults.refused = () => true
    await world.pass(awayMs)
    await comesBack(three)
    await world.until(() => three.reduce((sum, { ear }) => sum + ear.of('job.settled').length, 0) === 9)
    for (const { ear } of three) {
      expect(ear.of('loop.failed', { loop: 'beat' }).length).toBeGreaterThan(3)
      expect([ear.of('worker.freed'), ear.of('worker.gone'), ear.of('job.lease_lost')]).toEqual([[], [], []])
      expect(ear.of('job.settled', { state: 'done' })).toHaveLength(3)
    }
    expect([...seen].sort()).toEqual(keys)
    expect(await world.query(`select count(*)::int as n, count(distinct id)::int as keys from effects`)).toEqual([
      { n: 9, keys: 9 },
    ])
    expect(await world.query(`select * from regrow.ledger`)).toEqual([])
  },
)

test('a sweep that was cut off by an outage goes on soon after it, not when its turn runs out', async () => {
  const faults = new Faults()
  const { app, ear } = world.app({ store: faults.store(world.store()) })
  app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '5s' },
    run: (id) => world.query(`update things set state = 'done' where id = $1`, [id]),
  })
  await world.work(app)
  await world.query(`insert into things (id) values ('k1')`)
  faults.meet('source.page', async () => {
    faults.refused = () => true
    throw new Error('Connection terminated unexpectedly')
  })
  await world.until(() => ear.of('sweep.failed').length === 1)
  await world.pass(3_000)
  faults.refused = () => false
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1, 15_000)
})
