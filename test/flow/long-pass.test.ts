// A pass that takes longer than its interval, in virtual time: one at a time over the fleet (S10), the next one follows,
// every row is reached (L6), and another job is swept on time (F8).
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { sql } from '../../src/index.ts'
import { type Ear, openPglite, World } from './world.ts'

const everyMs = 5_000
const pageMs = 16_000
/** Three pages: longer than the interval, and than the budget of one turn. */
const rows = 20_500

let db: PGlite
let world: World

beforeAll(async () => {
  db = await openPglite(
    `create table things (id text collate "C" primary key, state text not null default 'pending', run_at timestamptz);
     create index on things (id) where state = 'pending'`,
  )
})
beforeEach(async () => {
  world = await World.begin(db, 'things')
})
afterAll(() => db.close())

/** The store with pages of the job `slow` that take their time; tells how many of them are read at a time. */
function slowPages(reading: { now: number; most: number }): StoreDriver {
  const driver = world.store()
  return {
    ...driver,
    async open(around) {
      const { store, defaultQueue } = await driver.open(around)
      const source: typeof store.source = (job) => {
        const made = store.source(job)
        const page: typeof made.page = async (...args) => {
          reading.most = Math.max(reading.most, ++reading.now)
          await world.clock.sleep(pageMs)
          return made.page(...args).finally(() => reading.now--)
        }
        const get = (target: object, name: string) => (name === 'page' ? page : Reflect.get(target, name))
        return job.name === 'slow' ? (new Proxy(made, { get }) as typeof made) : made
      }
      return { store: { ...store, source }, defaultQueue }
    },
  }
}

test('a pass longer than its interval is one at a time over the fleet, the next follows it, and nothing starves', async () => {
  const queue = world.queue()
  const reading = { now: 0, most: 0 }
  // None of them may start but the last.
  await world.query(`insert into things select 'k' || lpad(n::text, 6, '0'), 'pending',
    case when n < ${rows} then regrow.clock() + interval '10 hours' end from generate_series(1, ${rows}) n`)
  const ears: Ear[] = []
  for (const _ of [1, 2]) {
    const { app, ear } = world.app({ store: slowPages(reading) }, queue)
    app.job('slow', {
      pending: sql`select id, run_at from things where state = 'pending'`,
      sweep: { every: everyMs },
      run: (id) => world.query(`update things set state = 'done' where id = $1`, [id]),
    })
    app.job('other', {
      pending: sql`select id from things where state = 'other'`,
      sweep: { every: everyMs },
      run: () => {},
    })
    await world.work(app)
    ears.push(ear)
  }
  const all = (job: string) => ears.flatMap((ear) => ear.of('sweep.passed', { job }))
  const started = () => ears.flatMap((ear) => ear.of('job.started').map(({ key }) => key))
  // Behind the cursor: the pass that is under way has read that part.
  await world.pass(pageMs + 1_000)
  await world.query(`insert into things values ('a')`)
  await world.until(() => started().includes(`k0${rows}`), 4 * pageMs)
  expect(started()).toEqual([`k0${rows}`])
  await world.until(() => started().includes('a'), 2 * everyMs + 2 * pageMs)
  await world.until(() => all('slow').filter(({ finished }) => finished).length === 2, 2 * 60_000)

  expect(reading.most).toBe(1)
  // Each of them was cut short by its budget once, and went on where it had stopped.
  const turns = all('slow')
  expect(turns.filter(({ finished }) => !finished)).toHaveLength(2)
  const seen = turns.reduce((sum, turn) => sum + turn.seen, 0)
  expect(seen).toBeGreaterThanOrEqual(2 * rows - 1)
  expect(seen).toBeLessThanOrEqual(2 * rows + 1)
  const moments = ears.flatMap((ear) => ear.times('sweep.passed', { job: 'other' })).sort((a, b) => a - b)
  const gap = Math.max(...moments.slice(1).map((at, i) => at - (moments[i] as number)))
  console.log(
    `passes of ${(3 * pageMs) / 1_000} s every ${everyMs} ms; longest gap of the other job ${Math.round(gap)} ms`,
  )
  expect(gap).toBeLessThan(everyMs * 1.1 + 1_000)
  const ends = ears.flatMap((ear) => ear.times('sweep.passed', { job: 'slow', finished: true })).sort((a, b) => a - b)
  // The next pass begins an interval after the last one ended: nobody waits for a turn to run out.
  for (const [i, at] of ends.slice(1).entries())
    expect(at - (ends[i] as number)).toBeLessThan(3 * pageMs + everyMs * 1.1 + 2_000)
}, 120_000)
