// The queue is bounded on a real Postgres (S11, M20): more pending rows than it may hold, and a server that has no memory
// for more hints. Nothing is lost, and another job is swept on time.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { statements } from '../../src/drivers/postgres/queue/statements.gen.ts'
import { type App, sql } from '../../src/index.ts'
import { Sweeping } from './sweeping.ts'

const everyMs = 2_000
/** Besides the interval: its tenth of chance, standing back, a look, and a busy machine. */
const leewayMs = 3_000

let sweeping: Sweeping

beforeAll(async () => {
  sweeping = await Sweeping.open(
    'bounds',
    `create table things (id bigint primary key, state text not null default 'pending');
     create index on things (id) where state = 'pending';
     create table effects (id bigint not null)`,
  )
})
beforeEach(async () => {
  await sweeping.query('drop function if exists no_memory() cascade')
  await sweeping.query('truncate things, effects, regrow.ledger, regrow.sweeps, regrow.hints, regrow.workers')
})
afterEach(() => sweeping.rest())
afterAll(() => sweeping.close())

/** A job whose rows have one effect each, many at a time and not before `may`, and one that has nothing to do. */
function jobs(app: App, batch: number, may = Promise.resolve()) {
  const job = app.job('thing.make', {
    key: 'bigint',
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: 300 },
    batch,
  })
  const other = app.job('other', {
    key: 'bigint',
    pending: sql`select id from things where id < 0`,
    sweep: { every: everyMs },
  })
  const handler = job.handle(async (ids, ctx) => {
    await may
    await ctx.tx((tx) =>
      tx.query(
        `with done as (update things set state = 'done' where id = any ($1::text::bigint[]) returning id)
           insert into effects select id from done, pg_sleep(0.1)`,
        [`{${ids.join(',')}}`],
      ),
    )
  })
  return { job, handlers: [handler, other.handle(async () => {})] }
}

/** Looks at the queue again and again until every row is done. */
async function watch(): Promise<{ most: number; bytes: number }> {
  const seen = { most: 0, bytes: 0 }
  for (;;) {
    const [now] = await sweeping.query<{ hints: number; bytes: number; left: boolean }>(
      `select (select count(*) from regrow.hints)::int as hints, pg_total_relation_size('regrow.hints')::int as bytes,
         exists (select 1 from things where state = 'pending') as left from pg_sleep(0.02)`,
    )
    if (!now?.left) return seen
    seen.most = Math.max(seen.most, now.hints)
    seen.bytes = Math.max(seen.bytes, now.bytes)
  }
}

const effects = async () =>
  (await sweeping.query(`select count(*)::int as n, count(distinct id)::int as keys from effects`))[0]

test('12,000 pending rows go through a queue of 2,000: it never holds more, and is filled again as it drains', async () => {
  const [rows, maxHints] = [12_000, 2_000]
  await sweeping.query(`insert into things select n from generate_series(1, ${rows}) n`)
  const since = performance.now()
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  for (const _ of [1, 2]) {
    const { app } = sweeping.app({ store: postgres(sweeping.url, { maxHints }) })
    await sweeping.work(app, { concurrency: 2, handlers: jobs(app, 250, held).handlers })
  }
  const full = () => sweeping.ears.some((ear) => ear.of('hint.dropped', { why: 'full' }).length > 0)
  await Promise.race(sweeping.ears.map((ear) => ear.until(full)))
  expect(await sweeping.number(`select count(*) as n from regrow.hints`)).toBeLessThanOrEqual(maxHints)
  letGo()
  const { most, bytes } = await watch()
  const seconds = (performance.now() - since) / 1_000
  console.log(
    `${rows} rows in ${seconds.toFixed(1)} s: at most ${most} hints, ${Math.round(bytes / 1024)} KiB of table`,
  )
  expect(most).toBeLessThanOrEqual(maxHints)
  expect(await effects()).toEqual({ n: rows, keys: rows })
  expect(sweeping.ears.flatMap((ear) => ear.of('hint.dropped')).every(({ why }) => why === 'full')).toBe(true)
  expect(sweeping.gapMs('other', since)).toBeLessThan(everyMs + leewayMs)
})

test('a server that refuses hints for memory gets fewer of them: told, no outage, and every row is done', async () => {
  const [rows, maxHints, fits] = [1_200, 1_000, 300]
  await sweeping.query(`
    create function no_memory() returns trigger language plpgsql as $$
      begin
        if (select count(*) from regrow.hints) > ${fits} then
          raise exception 'out of memory' using errcode = '53200';
        end if;
        return null;
      end $$;
    create trigger no_memory after insert on regrow.hints for each statement execute function no_memory()`)
  const { app, ear } = sweeping.app({ store: postgres(sweeping.url, { maxHints }) })
  const { job, handlers } = jobs(app, 100)
  await sweeping.query(`insert into things select n from generate_series(1, ${rows}) n`)
  const keys = Array.from({ length: 500 }, (_, i) => BigInt(i + 1))
  expect(await job.enqueueMany(keys)).toMatchObject({ added: 0, dropped: 500 })
  const since = performance.now()
  await sweeping.work(app, { concurrency: 2, handlers })
  const { most } = await watch()
  const refused = ear.of('hint.dropped', { why: 'memory' })
  console.log(`room for ${fits} of ${maxHints} hints: at most ${most}, ${refused.length} pushes refused`)
  expect(most).toBeLessThanOrEqual(fits)
  expect(refused.length).toBeGreaterThanOrEqual(2)
  for (const { error } of refused) expect(error).toMatchObject({ code: 'queue_memory', cause: { code: '53200' } })
  expect(ear.of('hint.dropped', { why: 'queue' })).toEqual([])
  expect(ear.told.filter(({ event }) => event.startsWith('queue.'))).toEqual([])
  // A turn that got no hint in has failed; the next one asks for less.
  for (const failed of ear.of('sweep.failed'))
    expect(failed).toMatchObject({ job: 'thing.make', error: { code: 'queue_memory' } })
  expect(await effects()).toEqual({ n: rows, keys: rows })
  expect(sweeping.gapMs('other', since)).toBeLessThan(everyMs + leewayMs)
})

test('a pop of a table through which many hints went costs too little for Postgres to compile it', async () => {
  await sweeping.query(
    `insert into regrow.hints (job, key, due_at, fresh) select 'thing.make', n::text, now(), false from generate_series(1, 100000) n`,
  )
  await sweeping.query('delete from regrow.hints')
  const [plan] = await sweeping.query<{ 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }>(
    `explain (format json) ${statements.pop.pop}`,
    [JSON.stringify([{ job: 'thing.make', most: 500 }]), 500, 50],
  )
  const [{ threshold }] = (await sweeping.query(
    `select setting::float8 as threshold from pg_settings where name = 'jit_above_cost'`,
  )) as [{ threshold: number }]
  expect(plan?.['QUERY PLAN'][0].Plan['Total Cost']).toBeLessThan(threshold / 2)
})
