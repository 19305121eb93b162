// Each way in which things go wrong is made to happen, in virtual time, and seen in operate(app).health(); then mended, and gone.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Queue } from '../../src/drivers/index.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { type App, type PendingRow, regrow, sql } from '../../src/index.ts'
import { type Finding, type Health, operate } from '../../src/operate/index.ts'
import { openWorld, reset, type World } from './world.ts'

const minute = 60_000
const hour = 60 * minute
const world = openWorld(
  `create table things (id text primary key, state text not null default 'pending', version int default 1)`,
)

const rows = (count: number, prefix = 'k') =>
  world.query(`insert into things (id) select $2 || lpad(n::text, 6, '0') from generate_series(1, $1::int) n`, [
    count,
    prefix,
  ])

/** An app whose one job marks its rows as done. */
function thingApp(options: { every?: `${number}s`; queue?: Queue; run?: () => unknown } = {}) {
  const made = world.app({}, ...(options.queue ? [options.queue as ReturnType<World['queue']>] : []))
  made.app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: options.every ?? '10s' },
    retry: { attempts: 1 },
    run:
      options.run ??
      (async (id, ctx) => {
        await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
      }),
  })
  return made
}

const codes = async (app: App): Promise<string[]> =>
  (await operate(app).health()).findings.map(({ level, code }) => `${level} ${code}`)
const finding = ({ findings }: Health, code: Finding['code']) => findings.find((each) => each.code === code)
const thing = ({ jobs }: Health) => {
  const found = jobs.find(({ job }) => job === 'thing.make')
  if (!found?.sweep) throw new Error('thing.make was never swept')
  return { ...found, sweep: found.sweep }
}

test('a fleet that works is healthy, and the figures are those of its last pass', async () => {
  await rows(30)
  const { app, ear } = thingApp()
  await world.work(app)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 30)
  const first = await operate(app).health()
  expect(first).toMatchObject({ healthy: true, findings: [], heals: [], queue: { shared: true, down: false } })
  expect(thing(first)).toMatchObject({
    workers: 1,
    noProgress: 0,
    drainedAt: null,
    unowned: null,
    sweep: { seen: 30, pushed: 30, dropped: 0, everyMs: 10_000, errors: 0, pending: { count: 30, estimated: false } },
    drift: { pendingWithoutHint: { pushed: 30, left: 0 }, claimsWithoutOwner: 0 },
  })
  await world.until(() => ear.of('sweep.passed').length === 2)
  const second = await operate(app).health()
  expect(thing(second).sweep).toMatchObject({ seen: 0, pushed: 0, oldestAt: null, pending: { count: 0 } })
  expect(second.healthy).toBe(true)
})

test('an app that nobody has used yet, and one that only enqueues, are no reason to worry until something waits', async () => {
  const { app } = world.app()
  const mail = app.job('mail.send', { input: z.string() })
  expect(await codes(app)).toEqual([])
  await mail.enqueue('ada')
  expect(await codes(app)).toEqual(['bad no_worker'])
})

test('a sweep that breaks is worth a look at first, then bad, and well again when its query is mended', async () => {
  const { app, ear } = thingApp()
  await world.work(app)
  await world.query('alter table things rename to other')
  try {
    await world.until(() => ear.of('sweep.failed').length === 1)
    await world.pass(100)
    expect(await codes(app)).toEqual(['warn sweep_failing'])
    await world.until(() => ear.of('sweep.failed').length === 3)
    await world.pass(100)
    const health = await operate(app).health()
    expect(health.healthy).toBe(false)
    expect(finding(health, 'sweep_failing')).toMatchObject({
      level: 'bad',
      job: 'thing.make',
      message: expect.stringMatching(
        /^thing\.make: its sweep failed 3 times in a row: .*relation "things" does not exist/,
      ),
    })
  } finally {
    await world.query('alter table other rename to things')
  }
  await world.until(() => ear.of('sweep.passed').length === 2)
  expect(await codes(app)).toEqual([])
})

/** Somebody has the turn and keeps it for that long. */
async function keepTurn(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5_000) {
    await world.query(`update regrow.sweeps set holder = 'somebody', until = regrow.clock() + interval '20 seconds'`)
    await world.pass(Math.min(5_000, ms - passed))
  }
}

test('a sweep that nobody gets done is late, though its worker lives', async () => {
  const { app, ear } = thingApp({ every: '1s' })
  await world.work(app)
  await world.until(() => ear.of('sweep.passed').length === 1)
  await keepTurn(30_000)
  expect(await codes(app)).toEqual([])
  await keepTurn(5_000)
  expect(await codes(app)).toEqual(['bad sweep_late'])
  await world.query(`update regrow.sweeps set holder = null, until = null`)
  await world.until(() => ear.of('sweep.passed').length === 2)
  expect(await codes(app)).toEqual([])
})

test('a job whose first sweep never succeeds is told after a minute', async () => {
  // The queue is known: a new one would make every sweep due again.
  const { app: before, queue } = world.app()
  before.job('other', { pending: sql`select id from things where false`, run() {} })
  await world.over((await world.work(before)).stop())
  const { app } = thingApp({ queue })
  await world.work(app)
  await world.query(
    `update regrow.sweeps set last_success_at = null, last_attempt_at = null, next_at = regrow.clock() where job = 'thing.make'`,
  )
  await keepTurn(55_000)
  const own = async () => (await operate(app).health()).findings.filter(({ job }) => job === 'thing.make')
  expect(await own()).toEqual([])
  await keepTurn(6_000)
  expect(await own()).toMatchObject([{ level: 'bad', code: 'sweep_never' }])
})

test('when all workers are gone, the job says so at once, and how much waits for one', async () => {
  await rows(12)
  let hang = true
  const { app, ear } = thingApp({
    run: () => (hang ? new Promise(() => {}) : world.query(`update things set state = 'done'`)),
  })
  const worker = await world.work(app)
  await world.over(worker.stop({ grace: 0 }))
  const health = await operate(app).health()
  expect(health.healthy).toBe(false)
  expect(health.findings).toMatchObject([{ level: 'bad', code: 'no_worker', job: null }])
  expect(finding(health, 'no_worker')?.message).toContain('about 12 wait for one')
  await world.pass(30 * minute)
  expect(await codes(app)).toEqual(['bad no_worker'])
  await world.query(`insert into regrow.ledger (job, key, state) values ('thing.make', 'k000001', 'quarantined')
    on conflict (key, job) do update set state = 'quarantined', holder = null`)
  expect(thing(await operate(app).health())).toMatchObject({ quarantined: 1, waiting: { count: 11, stale: true } })
  await world.query(`delete from regrow.ledger`)
  hang = false
  await world.work(app)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length > 0)
  expect(await codes(app)).toEqual([])
})

test('claims of a worker that died are without an owner until somebody frees them', async () => {
  await rows(3)
  const { app, ear } = thingApp({ run: () => new Promise(() => {}) })
  const worker = app.work()
  await world.over(worker.ready)
  await world.until(() => ear.of('job.started').length === 3)
  // As after kill -9: it beats no more, and gives nothing back.
  const [{ id, jobs }] = (await world.query(`select id, jobs from regrow.workers`)) as [{ id: string; jobs: object }]
  await world.over(worker.stop({ grace: 0 }))
  await world.query(
    `insert into regrow.workers (id, host, pid, jobs, started_at, beat_at) values ($1, 'h', 1, $2, regrow.clock(), regrow.clock())`,
    [id, JSON.stringify(jobs)],
  )
  await world.query(
    `insert into regrow.ledger (job, key, holder, take, state) select 'thing.make', id, $1, 900, 'running' from things
     on conflict (key, job) do update set holder = excluded.holder, take = 900, state = 'running'`,
    [id],
  )
  const late = thingApp()
  await world.pass(20_000)
  expect(thing(await operate(late.app).health())).toMatchObject({
    unowned: { count: 3 },
    drift: { claimsWithoutOwner: 3 },
  })
  expect(await codes(late.app)).not.toContain('bad claims_unowned')
  await world.pass(50_000)
  expect(await codes(late.app)).toEqual(['bad no_worker'])
  await world.work(late.app)
  await world.until(() => late.ear.of('job.settled', { state: 'done' }).length === 3)
  expect(thing(await operate(late.app).health()).drift.claimsWithoutOwner).toBe(0)
})

describe('a pause', () => {
  test('that grows is bad, and gone when it is resumed', async () => {
    await rows(20)
    const { app, ear } = thingApp({ every: '10s' })
    await app.pause('thing.make', { reason: 'provider is down', author: 'ann' })
    await world.work(app)
    await world.until(async () => thing(await operate(app).health()).pause?.backlog === 20)
    expect(await codes(app)).toEqual(['warn paused'])
    await rows(99, 'more')
    await world.pass(15_000)
    expect(await codes(app)).toEqual(['warn paused'])
    await rows(1, 'last')
    await world.pass(15_000)
    expect(await codes(app)).toEqual(['bad pause_grows'])
    expect(finding(await operate(app).health(), 'pause_grows')?.message).toContain('20 were pending then, 120 are now')
    await app.resume('thing.make')
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 120)
    expect(await codes(app)).toEqual([])
  })

  test('that nobody thought of for a day is bad', async () => {
    const { app } = thingApp()
    const worker = await world.work(app)
    await app.pause('thing.make', { reason: 'for a moment', author: 'ann' })
    await world.over(worker.stop())
    await world.pass(24 * hour)
    await world.work(app)
    const health = await operate(app).health()
    expect(health.findings).toMatchObject([{ level: 'bad', code: 'pause_old' }])
    expect(finding(health, 'pause_old')?.message).toMatch(/^thing\.make was paused 1d.* ago by ann: for a moment$/)
  })
})

describe('no progress', () => {
  test('without a version is counted in runs, and forgotten two passes after the handler is mended', async () => {
    await rows(3)
    let mended = false
    const { app, ear } = thingApp({
      every: '10s',
      run: async () => {
        if (mended) await world.query(`update things set state = 'done'`)
      },
    })
    await world.work(app)
    await world.until(() => ear.of('sweep.passed').length === 4)
    await world.pass(100)
    expect(thing(await operate(app).health()).noProgress).toBe(3)
    expect(await codes(app)).toEqual(['warn no_progress'])
    mended = true
    await world.until(() => ear.of('sweep.passed').length === 7)
    expect(await codes(app)).toEqual([])
  })

  test('with a version is counted in keys, which fail of it', async () => {
    await rows(2)
    const { app } = world.app()
    app.job('thing.make', { pending: sql`select id, version from things where state = 'pending'`, run() {} })
    await world.work(app)
    const health = await operate(app).health()
    expect(thing(health)).toMatchObject({ noProgress: 2, retrying: 2 })
    expect(health.findings).toMatchObject([{ level: 'warn', code: 'no_progress' }])
  })
})

test('quarantine is worth a look', async () => {
  await rows(2)
  const { app, ear } = thingApp({ run: () => Promise.reject(new Error('no')) })
  await world.work(app)
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 2)
  expect(await operate(app).health()).toMatchObject({
    healthy: true,
    findings: [{ code: 'quarantined', job: 'thing.make' }],
  })
})

test('rows that wait for more than an hour are told, with the age that the sweep knows of', async () => {
  await rows(5)
  const { app, ear } = thingApp({ run: () => new Promise(() => {}) })
  for (const since of [50 * minute, 20 * minute]) {
    const worker = await world.work(app, { concurrency: 1 })
    const passes = ear.of('sweep.passed').length
    await world.until(() => ear.of('sweep.passed').length > passes)
    expect(await codes(app)).toEqual([])
    await world.over(worker.stop({ grace: 0 }))
    await world.pass(since)
  }
  await world.work(app, { concurrency: 1 })
  await world.until(() => ear.of('sweep.passed').length >= 5)
  const health = await operate(app).health()
  expect(health.findings).toMatchObject([{ level: 'warn', code: 'waiting_long', job: 'thing.make' }])
  expect(finding(health, 'waiting_long')?.message).toMatch(/waited for 1h 1\dm at least$/)
})

/** A shared queue that can be away. */
function breakable(real: Queue) {
  const state = { away: false }
  const queue = new Proxy(real, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function' || name === 'close') return value
      return (...args: unknown[]) =>
        state.away ? Promise.reject(new Error('the queue is away')) : value.apply(target, args)
    },
  })
  return { queue, state }
}

test('a queue that does not answer is bad for who works and for who only looks; the work goes on', async () => {
  const { queue, state } = breakable(world.queue())
  const working = thingApp({ queue })
  const looking = thingApp({ queue })
  await world.work(working.app)
  expect((await operate(looking.app).health()).queue).toMatchObject({ shared: true, down: false })
  state.away = true
  await rows(5)
  await world.until(() => working.ear.of('job.settled', { state: 'done' }).length === 5)
  for (const { app } of [working, looking]) {
    const health = await operate(app).health()
    expect(health.findings).toMatchObject([{ level: 'bad', code: 'queue_down', job: null }])
    expect(health.queue.down).toBe(true)
    expect(thing(health)).toMatchObject({ hints: null, drift: { hintsWithoutRow: null } })
  }
  state.away = false
  await world.until(() => working.ear.of('queue.up').length === 1)
  for (const { app } of [working, looking]) expect((await operate(app).health()).queue.down).toBe(false)
})

test('a lost queue is in the history: when, how, by whom, what came back; ten minutes later all is well', async () => {
  const { app, ear, queue } = thingApp({ run: () => new Promise(() => {}) })
  await rows(40)
  const worker = await world.work(app, { concurrency: 2 })
  await world.pass(5_000)
  expect(await queue.wipe()).toBeGreaterThan(30)
  await world.until(() => ear.of('queue.healed').length === 1, 10_000)
  const health = await operate(app).health()
  expect(health.heals).toMatchObject([
    { queue: 'memory', how: 'missing', noticedBy: expect.stringMatching(/.:\d+$/), pushed: 38, jobsLeft: 0 },
  ])
  const [heal] = health.heals
  expect(heal?.endedAt?.getTime()).toBeGreaterThanOrEqual(heal?.at.getTime() as number)
  expect(health.findings).toMatchObject([{ level: 'warn', code: 'queue_lost', job: null }])
  await world.over(worker.stop({ grace: 0 }))
  await world.pass(11 * minute)
  const later = await operate(app).health()
  expect(later.findings.map(({ code }) => code)).toEqual(['no_worker'])
  expect(later.heals).toHaveLength(1)
})

test('a loss that does not heal is bad after five minutes', async () => {
  let broken = false
  const { app, ear, queue } = world.app()
  app.job('thing.make', {
    pending: {
      page: async (): Promise<PendingRow<string>[]> => {
        if (broken) throw new Error('not now')
        return []
      },
      isPending: async () => [],
    },
    sweep: { every: '2s' },
    run() {},
  })
  const worker = await world.work(app)
  await world.pass(3_000)
  broken = true
  await queue.wipe()
  await world.until(() => ear.of('queue.lost').length === 1)
  await world.until(() => ear.of('sweep.failed').length === 3)
  expect(await codes(app)).toEqual(['bad sweep_failing', 'warn queue_lost'])
  await world.over(worker.stop())
  await world.pass(5 * minute)
  await world.work(app)
  expect(await codes(app)).toEqual(['bad heal_late', 'bad sweep_failing', 'warn queue_lost'])
  broken = false
  await world.until(() => ear.of('queue.healed').length === 1)
  expect(await codes(app)).toEqual(['warn queue_lost'])
})

test('a queue that is full leaves rows without hints, which is no reason to worry; hints beyond the rows are drift', async () => {
  await rows(50)
  const { app, ear } = thingApp({ queue: world.queue({ maxHints: 10 }), run: () => new Promise(() => {}) })
  await world.work(app, { concurrency: 1 })
  await world.until(() => ear.of('sweep.passed').length >= 4)
  const full = await operate(app).health()
  expect(thing(full).drift.pendingWithoutHint.left).toBeGreaterThan(0)
  expect(thing(full).sweep).toMatchObject({ dropped: expect.any(Number), pending: { estimated: true } })
  expect(full.findings).toEqual([])

  await world.query(`update things set state = 'done'`)
  await world.until(async () => thing(await operate(app).health()).sweep.pending?.count === 0)
  const stray = thing(await operate(app).health())
  expect(stray.sweep.pending).toMatchObject({ estimated: false })
  expect(stray.drift).toMatchObject({ pendingWithoutHint: { pushed: 0, left: 0 }, hintsWithoutRow: expect.any(Number) })
  expect(stray.drift.hintsWithoutRow).toBeGreaterThan(0)
})

test('the doctor says the same of a query on PGlite as on a server', async () => {
  await reset(world.db)
  await world.db.exec(`
    create table orders (id int primary key, state text not null);
    insert into orders select n, case when n % 1000 = 0 then 'new' else 'old' end from generate_series(1, 20000) n;
    analyze orders`)
  const app = regrow({ store: pglite(world.db) })
  app.job('order.ship', { key: 'int', pending: sql`select id from orders where state = 'new'`, run() {} })
  app.job('bad', { pending: sql`select id::text from orders`, run() {} })
  const { findings } = await operate(app).doctor()
  expect(findings.map(({ level, code }) => `${level} ${code}`)).toEqual(['bad pending_refused', 'warn index_missing'])
  expect(findings[1]?.fix).toBe(
    `create index concurrently orders_id_where_state_new on public.orders (id) where state = 'new';`,
  )
  await world.db.query(`create index on orders (id) where state = 'new'`)
  expect((await operate(app).doctor({ jobs: ['order.ship'] })).findings).toEqual([])
  await app.close()
})
