// Hundreds of jobs that have nothing to do: what they cost is what their pages cost, so one process sweeps them all at the rate at which
// 3,000 are swept within a minute, and a lost queue is back for all of them within seconds; also beside queries that hang (L2).
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { sql } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { Sweeping } from './sweeping.ts'

const jobs = 400
/** 3,000 in a minute. */
const withinMs = (jobs / 3_000) * 60_000

let sweeping: Sweeping
beforeAll(async () => {
  sweeping = await Sweeping.open(
    'many_jobs',
    `create table things (job text, id text collate "C", primary key (job, id));
     create table switch (hangs boolean not null);
     insert into switch values (true);
     create function answers() returns boolean language plpgsql volatile as $$
       begin
         while (select hangs from switch) loop perform pg_sleep(0.1); end loop;
         return true;
       end $$;`,
  )
})
afterAll(() => sweeping.close())

/** The driver, whose store tells when it is asked for turns. */
function telling(driver: StoreDriver, asked: () => void): StoreDriver {
  return {
    ...driver,
    open: async (around) => {
      const opened = await driver.open(around)
      const { sweeps } = opened.store as Store
      const telling: Store['sweeps'] = {
        ...sweeps,
        turn: (...args) => {
          asked()
          return sweeps.turn(...args)
        },
      }
      return { ...opened, store: { ...opened.store, sweeps: telling } }
    },
  }
}

test('400 idle jobs are swept in a few batches, and a lost queue is back for all of them, though some queries hang', async () => {
  let calls = 0
  const { app, ear } = sweeping.app({ store: telling(postgres(sweeping.url), () => calls++) })
  const started: string[] = []
  for (let n = 0; n < jobs; n++)
    app.job(`job.${n}`, {
      pending: sql`select id from things where job = ${`job.${n}`}`,
      async run(id, ctx) {
        started.push(id)
        await ctx.tx((tx) => tx.query(`delete from things where job = $1`, [`job.${n}`]))
      },
    })
  for (let n = 0; n < 3; n++) app.job(`hangs.${n}`, { pending: sql`select id from things where answers()`, run() {} })
  const passed = () => new Set(ear.of('sweep.passed').map(({ job }) => job)).size
  await sweeping.work(app)
  const since = performance.now()
  await ear.until(() => passed() >= jobs, 4 * withinMs)
  expect(performance.now() - since).toBeLessThan(withinMs)

  // Rows nobody enqueued, for the pass that follows the loss; it makes no batch smaller that some passes find something.
  const rows = jobs / 10
  await sweeping.query(`insert into things select 'job.' || n, 'k' || n from generate_series(0, $1::int - 1) n`, [rows])
  const before = ear.of('sweep.passed').length
  calls = 0
  await sweeping.query(`update switch set hangs = false`)
  await sweeping.query(`delete from regrow.hints`)
  await sweeping.query(`delete from regrow.canary`)
  await ear.until(() => ear.of('queue.healed').length > 0)
  expect(ear.of('queue.healed')[0]?.tookMs).toBeLessThan(withinMs)
  expect(ear.of('sweep.passed').length - before).toBeGreaterThanOrEqual(jobs)
  // Four at a time it would be a hundred.
  expect(calls).toBeLessThan(jobs / 6)
  await ear.until(() => started.length >= rows)
}, 120_000)
