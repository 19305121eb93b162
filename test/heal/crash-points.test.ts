// The first proof: the real core on PGlite in virtual time; a process dies at every port event of three scenarios in turn,
// another one goes on, and nothing is lost or doubled.
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pglite } from '../../src/backends/pglite/index.ts'
import { sql } from '../../src/job/pending.ts'
import { MemoryQueue } from '../../src/queue/memory.ts'
import { type App, compose } from '../../src/regrow.ts'
import { Process, seededRandom } from '../sim/process.ts'
import { VirtualClock } from '../sim/virtual-clock.ts'

let db: PGlite

beforeAll(async () => {
  db = new PGlite()
  await compose({ store: pglite(db) }, { clock: new VirtualClock(), random: seededRandom(1) }).migrate()
  await db.exec(`
    create table things (id text primary key, state text not null, failed int not null default 0);
    create table effects (id text not null);
    create or replace function regrow.clock() returns timestamptz language sql volatile
      as 'select timestamptz ''2026-01-01 00:00:00+00'' + make_interval(secs => current_setting(''sim.now'')::float8 / 1000)';
  `)
})
afterAll(() => db.close())

function declare(app: App) {
  return app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: 10_000 },
    retry: { delay: 1_000 },
    async run(id, ctx) {
      await ctx
        .tx(async (tx) => {
          const { rows } = await tx.query(`select failed from things where id = $1`, [id])
          if (Number(rows[0]?.failed) > 0) throw new Error('not yet')
          await tx.query(`insert into effects (id) values ($1)`, [id])
          await tx.query(`update things set state = 'done' where id = $1`, [id])
        })
        .catch(async (error: unknown) => {
          await db.query(`update things set failed = failed - 1 where id = $1 and failed > 0`, [id])
          throw error
        })
    },
  })
}

const scenarios: Record<string, (job: ReturnType<typeof declare>) => Promise<void>> = {
  'a row is written and enqueued': async (job) => {
    await db.query(`insert into things (id, state) values ('a', 'pending')`)
    await job.enqueue('a')
  },
  'a row is written and never enqueued': async () => {
    await db.query(`insert into things (id, state) values ('a', 'pending')`)
  },
  'a row is enqueued before it is written, and its handler fails twice': async (job) => {
    await job.enqueue('a')
    await db.query(`insert into things (id, state, failed) values ('a', 'pending', 2)`)
  },
}

const now = (ms: number) => db.query(`select set_config('sim.now', $1, false)`, [String(ms)]).then(() => {})

/** One history: a process that dies at its `dieAt`-th event, and one that lives; returns what came of it. */
async function history(scenario: (job: ReturnType<typeof declare>) => Promise<void>, dieAt: number) {
  await db.exec(`truncate things, effects, regrow.ledger, regrow.workers, regrow.sweeps`)
  const clock = new VirtualClock()
  await now(0)
  const start = (dieAt: number, seed: number) => {
    const process = new Process(clock, dieAt)
    const own = process.clock()
    const app = compose(
      { store: process.store(pglite(db)), queue: process.queue(() => new MemoryQueue(own)), lease: 3_000 },
      { clock: own, random: seededRandom(seed) },
    )
    return { process, job: declare(app), worker: app.work() }
  }
  const mortal = start(dieAt, 1)
  await mortal.worker.ready
  void scenario(mortal.job)
  const settled = async () => {
    const { rows } = await db.query<{ done: boolean; ledger: number }>(
      `select exists (select 1 from things where state = 'done') as done, (select count(*)::int from regrow.ledger) as ledger`,
    )
    return rows[0]?.done === true && rows[0].ledger === 0
  }
  // The mortal one alone first; the survivor comes when it is dead, as a restart or another machine would.
  await clock.run(async () => mortal.process.dead || (await settled()), 60_000, now)
  const survivor = start(Number.POSITIVE_INFINITY, 2)
  await survivor.worker.ready
  // The row may not have been written when its writer died: then there is no work to lose.
  await db.query(`insert into things (id, state) values ('a', 'pending') on conflict do nothing`)
  const done = await clock.run(settled, 120_000, now)
  mortal.process.event('end')
  const effects = await db.query<{ count: number }>(`select count(*)::int as count from effects`)
  survivor.process.dead = true
  mortal.process.dead = true
  return { done, effects: effects.rows[0]?.count, events: mortal.process.events, diedAt: mortal.process.lastEvent }
}

for (const [name, scenario] of Object.entries(scenarios))
  test(`a crash at any port event loses nothing: ${name}`, async () => {
    const calm = await history(scenario, Number.POSITIVE_INFINITY)
    expect(calm).toMatchObject({ done: true, effects: 1 })
    expect(calm.events).toBeGreaterThan(20)
    const wrong = []
    for (let dieAt = 1; dieAt <= calm.events; dieAt++) {
      const { done, effects, diedAt } = await history(scenario, dieAt)
      if (!done || effects !== 1) wrong.push(`event ${dieAt} (${diedAt}): ${done ? `${effects} effects` : 'lost'}`)
    }
    console.log(`${name}: ${calm.events} crash points, lost or doubled ${wrong.length}`)
    expect(wrong).toEqual([])
  }, 240_000)
