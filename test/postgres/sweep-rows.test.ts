// Rows that make a sweep hard, on a real Postgres: they commit late under lower keys, change behind its cursor, or stand
// behind 300,000 that a person has to decide about. Another job is swept on time meanwhile.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type EventMap, sql } from '../../src/index.ts'
import { Sweeping } from './sweeping.ts'

const everyMs = 1_000
/** Besides the interval: its tenth of chance, standing back, a look, and a busy machine. */
const leewayMs = 2_500

let sweeping: Sweeping

beforeAll(async () => {
  sweeping = await Sweeping.open(
    'sweep_rows',
    `create table things (id bigint primary key, state text not null default 'pending');
     create index on things (id) where state = 'pending'`,
  )
})
beforeEach(async () => {
  await sweeping.query('truncate things, regrow.ledger, regrow.sweeps, regrow.hints, regrow.workers')
})
afterEach(() => sweeping.rest())
afterAll(() => sweeping.close())

const finish = `update things set state = 'done' where id = $1`

function jobs(app: App, run: (id: bigint) => Promise<void> = async () => {}) {
  app.job('thing.make', {
    key: 'bigint',
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: everyMs },
    async run(id, ctx) {
      await run(id)
      await ctx.tx((tx) => tx.query(finish, [String(id)]))
    },
  })
  app.job('other', {
    key: 'bigint',
    pending: sql`select id from things where id < 0`,
    sweep: { every: everyMs },
    run() {},
  })
}

test('rows that commit late under lower keys than the pass has read are found by the next one', async () => {
  const { app, ear } = sweeping.app()
  jobs(app)
  const open = await sweeping.session()
  await open.query('begin')
  await open.query('insert into things select n from generate_series(1, 20) n')
  await sweeping.query('insert into things select n from generate_series(101, 120) n')
  await sweeping.work(app)
  await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 20)
  await open.query('commit')
  await open.end()
  const committedAt = performance.now()
  await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 40)
  const worst = Math.max(...ear.times('job.started')) - committedAt
  console.log(`20 rows that committed late were found within ${Math.round(worst)} ms, sweeps every ${everyMs} ms`)
  expect(worst).toBeLessThan(everyMs + leewayMs)
  const passes = ear.told.flatMap(({ event, detail, at }) => {
    const { job, pushed, tookMs } = detail as EventMap['sweep.passed']
    return event === 'sweep.passed' && job === 'thing.make' ? [{ pushed, began: at - tookMs }] : []
  })
  // M9: none that began after the commit came back without them.
  const finder = passes.findLastIndex(({ pushed }) => pushed === 20)
  expect(passes.slice(0, finder).filter(({ began }) => began > committedAt)).toEqual([])
  expect(sweeping.gapMs('other', committedAt)).toBeLessThan(everyMs + leewayMs)
})

test('of rows that change after they were hinted, those no longer pending are dropped at the check, those that became pending run', async () => {
  const { app, ear } = sweeping.app()
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  jobs(app, (id) => (id === 1n ? held : Promise.resolve()))
  await sweeping.query('insert into things select n from generate_series(1, 40) n')
  await sweeping.query(`update things set state = 'later' where id between 2 and 10`)
  const since = performance.now()
  await sweeping.work(app, { concurrency: 1 })
  await ear.until(() => ear.of('sweep.passed', { job: 'thing.make', seen: 31 }).length > 0)
  // The cursor has been here: what was pending is not, and the other way round.
  await sweeping.query(`update things set state = case when id <= 10 then 'pending' else 'taken back' end
    where id between 2 and 10 or id between 31 and 40`)
  await ear.until(() => sweeping.passes('thing.make').length >= 3)
  letGo()
  await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 30)
  const started = ear.of('job.started').map(({ key }) => Number(key))
  expect(started.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1))
  await ear.until(() => ear.of('hint.refused', { why: 'not_pending' }).length >= 10)
  expect(new Set(ear.of('hint.refused', { why: 'not_pending' }).map(({ key }) => Number(key)))).toEqual(
    new Set(Array.from({ length: 10 }, (_, i) => i + 31)),
  )
  expect(await sweeping.query(`select state, count(*)::int as n from things group by 1 order by 1`)).toEqual([
    { state: 'done', n: 30 },
    { state: 'taken back', n: 10 },
  ])
  // Nothing is remembered of them; a hint that a sweep pushed meanwhile may just be looked at.
  expect(await sweeping.query(`select key from regrow.ledger where holder is null`)).toEqual([])
  expect(sweeping.gapMs('other', since)).toBeLessThan(everyMs + leewayMs)
})

test('behind 300,000 quarantined keys one row is found in one pass, of as many pages as there are rows to read', async () => {
  await sweeping.query('insert into things select n from generate_series(1, 300001) n')
  await sweeping.query(`insert into regrow.ledger (job, key, state, failures)
    select 'thing.make', id::text, 'quarantined', 20 from things where id <= 300000`)
  // The audit of so large a ledger is not what this is about: it was made just now.
  await sweeping.query(`insert into regrow.sweeps (job, next_at, audited_at) values ('thing.make', now(), now())`)
  const pool = new pg.Pool({ connectionString: sweeping.url })
  // A database that is dropped ends what is still open.
  pool.on('error', () => {})
  const pages: string[] = []
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      const text = String(args[0])
      if (text.includes('page as materialized') && text.includes("state = 'pending'")) pages.push(text)
      return query(...args)
    }) as typeof client.query
  })
  const { app, ear } = sweeping.app({ store: postgres(pool) })
  try {
    jobs(app)
    const since = performance.now()
    await sweeping.work(app)
    const first = await ear.hears('sweep.passed', { job: 'thing.make' })
    const read = pages.length
    console.log(`one row behind 300,000 quarantined: ${read} pages in ${Math.round(first.tookMs)} ms`)
    expect(first).toMatchObject({ seen: 300_001, pushed: 1, held: 300_000, finished: true })
    // Ten thousand rows each, but for the first and the last.
    expect(read).toBeLessThanOrEqual(32)
    await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
    expect(ear.of('job.started')).toMatchObject([{ key: '300001' }])
    expect(sweeping.gapMs('other', since)).toBeLessThan(everyMs + leewayMs)
  } finally {
    await sweeping.rest()
    await pool.end()
  }
})
