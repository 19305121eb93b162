// A person looks at what failed for good, releases it or drops it, pauses a job, and asks how everything stands.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/base/clock.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { executorOf } from '../../src/drivers/postgres/store/opaque.ts'
import { type App, type EventMap, regrow, type StoreDriver, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import type { Store } from '../../src/store/store.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase('quarantine')
})
afterAll(() => database.drop())

const drivers: Record<string, () => StoreDriver> = { Postgres: () => postgres(database.url), PGlite: () => pglite() }

describe.each(Object.keys(drivers))('on %s', (name) => {
  let driver: StoreDriver
  let app: App
  let store: Store
  let wipe: () => Promise<number>
  let failing: boolean
  const ran: string[] = []

  /** One connection for all apps of a test: PGlite in memory has no other. */
  function shared(inner: StoreDriver): StoreDriver {
    let open: ReturnType<StoreDriver['open']> | undefined
    return {
      ...inner,
      open: async (around) => {
        open ??= inner.open(around)
        const { store: opened, defaultQueue } = await open
        store = opened
        wipe = () => defaultQueue().wipe()
        return { store: { ...opened, close: async () => {} }, defaultQueue }
      },
    }
  }

  const query = (text: string) => store.transaction((tx) => executorOf(tx).query(text)).then(({ rows }) => rows)
  const settled = (times: number) =>
    new Promise<EventMap['job.settled'][]>((resolve) => {
      const seen: EventMap['job.settled'][] = []
      app.on('job.settled', (detail) => {
        seen.push(detail)
        if (seen.length === times) resolve(seen)
      })
    })

  function declare() {
    const run = (value: unknown) => {
      ran.push(typeof value === 'string' ? value : (value as { to: string }).to)
      if (failing) throw new Error('refused: password=hunter2')
    }
    const mail = app.job('mail.send', { input: z.object({ to: z.string() }), retry: { attempts: 1 }, run })
    const thing = app.job('thing.make', {
      pending: sql`select id from things where state = 'pending'`,
      retry: { attempts: 1 },
      sweep: { every: '1h' },
      async run(id, ctx) {
        run(id)
        await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
      },
    })
    return { mail, thing }
  }

  beforeAll(async () => {
    driver = shared(drivers[name]?.() as StoreDriver)
    const first = regrow({ store: driver })
    await first.transaction((tx) => tx.query(`create table things (id text primary key, state text not null)`))
  })
  afterAll(() => store.close())

  let worker: ReturnType<App['work']> | undefined
  beforeEach(async () => {
    await query(
      'truncate things, regrow.ledger, regrow.workers, regrow.sweeps, regrow.intents, regrow.audit, regrow.pauses',
    )
    await wipe()
    failing = true
    ran.length = 0
    app = regrow({ store: driver })
  })
  afterEach(async () => {
    await worker?.stop({ grace: 0 })
    worker = undefined
  })

  /** Both jobs have failed for good with one key each; the worker goes on. */
  async function twoQuarantined() {
    const { mail, thing } = declare()
    const over = settled(2)
    worker = app.work()
    await worker.ready
    await query(`insert into things values ('a', 'pending')`)
    await thing.enqueue('a')
    const intent = (await mail.enqueue({ to: 'x@example.org' })).key
    expect((await over).map(({ state }) => state)).toEqual(['quarantined', 'quarantined'])
    return { mail, thing, intent }
  }

  test('a released key is new: its failures are forgotten, it runs at once, and the audit says who released it', async () => {
    const { intent } = await twoQuarantined()
    failing = false
    const over = settled(2)
    expect(await operate(app).quarantine.release('thing.make', 'a', { author: 'ann' })).toEqual({
      count: 1,
      released: ['a'],
      missing: [],
    })
    expect(await operate(app).quarantine.release('mail.send', [intent, 'not-there'], { author: 'bob' })).toEqual({
      count: 1,
      released: [intent],
      missing: ['not-there'],
    })
    expect((await over).map(({ state }) => state)).toEqual(['done', 'done'])
    expect(ran).toEqual(expect.arrayContaining(['a', 'x@example.org']))
    expect(ran).toHaveLength(4)
    expect(await operate(app).quarantine.list()).toEqual({ keys: [], next: null })
    const audit = await query('select author, action, job, detail from regrow.audit order by id')
    expect(audit).toMatchObject([
      { author: 'ann', action: 'quarantine.release', job: 'thing.make' },
      { author: 'bob', action: 'quarantine.release', job: 'mail.send' },
    ])
    expect(JSON.parse(audit[0]?.detail as string)).toMatchObject({ key: 'a', failures: 1 })
  })

  test('keys whose connections were refused are found by the code, also where it is only inside the error', async () => {
    const refused = (address: string) =>
      Object.assign(new Error(`connect failed ${address}`), { code: 'ECONNREFUSED', address })
    const errors: Record<string, () => Error> = {
      // What Node throws for a host with two addresses: no message of its own.
      both: () => new AggregateError([refused('::1'), refused('127.0.0.1')]),
      fetched: () => new TypeError('fetch failed', { cause: new AggregateError([refused('::1')]) }),
      other: () => new Error('something else'),
    }
    const calls = app.job('call.make', {
      input: z.object({ to: z.string() }),
      retry: { attempts: 1 },
      run({ to }) {
        throw (errors[to] as () => Error)()
      },
    })
    const over = settled(3)
    worker = app.work()
    for (const to of Object.keys(errors)) await calls.enqueue({ to })
    await over
    const found = await operate(app).quarantine.list({ job: 'call.make', error: 'ECONNREFUSED' })
    expect(found.keys.map(({ error }) => error?.split('\n')[0]).sort()).toEqual([
      'AggregateError: connect failed ::1; connect failed 127.0.0.1',
      'TypeError: fetch failed',
    ])
    expect(await operate(app).quarantine.release('call.make', { where: { error: 'econnrefused' } })).toMatchObject({
      count: 2,
    })
  })

  test('a dropped intent is gone, and never runs again', async () => {
    const { intent } = await twoQuarantined()
    expect(await operate(app).quarantine.drop('mail.send', intent, { author: 'ann' })).toEqual({
      count: 1,
      dropped: [intent],
      missing: [],
    })
    expect(await query('select id from regrow.intents')).toEqual([])
    expect(await query(`select key from regrow.ledger where job = 'mail.send'`)).toEqual([])
    failing = false
    expect(await operate(app).sweep({ jobs: ['mail.send'] })).toMatchObject([{ seen: 0, pushed: 0 }])
    expect(await query('select author, action from regrow.audit')).toEqual([
      { author: 'ann', action: 'quarantine.drop' },
    ])
  })

  test('a key whose work is a row of the user cannot be dropped, and nothing else is dropped with it', async () => {
    const { intent } = await twoQuarantined()
    await expect(operate(app).quarantine.drop('thing.make', 'a')).rejects.toMatchObject({
      code: 'row_of_yours',
      hint: expect.stringContaining('Change the row so that the pending query no longer returns it'),
    })
    // A key of that job without an intent beside one that has one: all or nothing.
    await query(`insert into regrow.ledger (job, key, state) values ('mail.send', 'stray', 'quarantined')`)
    await expect(operate(app).quarantine.drop('mail.send', { all: true })).rejects.toMatchObject({
      code: 'row_of_yours',
    })
    expect(await query('select id::text as id from regrow.intents')).toEqual([{ id: intent }])
    expect(await query('select 1 as one from regrow.audit')).toEqual([])
  })

  test('show tells the whole error without secrets, and the intent', async () => {
    const { intent } = await twoQuarantined()
    const found = await operate(app).quarantine.show('mail.send', intent)
    expect(found).toMatchObject({ job: 'mail.send', key: intent, failures: 1, crashes: 0 })
    expect(found?.error).toContain('refused: password=[redacted]')
    expect(JSON.parse(found?.intent?.input as string)).toEqual({ to: 'x@example.org' })
    expect((await operate(app).quarantine.show('thing.make', 'a'))?.intent).toBeNull()
    expect(await operate(app).quarantine.show('thing.make', 'b')).toBeNull()
  })

  test('only quarantined keys are released: not one that runs, and not one in back-off', async () => {
    declare()
    await operate(app).status()
    await query(
      `insert into regrow.ledger (job, key, state, holder, take) values ('thing.make', 'runs', 'running', 'h', 1)`,
    )
    await query(`insert into regrow.ledger (job, key, state) values ('thing.make', 'waits', 'retrying')`)
    expect(await operate(app).quarantine.release('thing.make', ['runs', 'waits'])).toEqual({
      count: 0,
      released: [],
      missing: ['runs', 'waits'],
    })
    expect(await query(`select key from regrow.ledger order by key`)).toEqual([{ key: 'runs' }, { key: 'waits' }])
  })

  test('the list is read in pages by job and key, and release of all meets each key once', async () => {
    const { thing } = declare()
    await operate(app).status()
    const odd = [
      '',
      'a',
      'B',
      'ä',
      '"',
      "'; drop table things",
      '\u{10FFFF}',
      '["x","y"]',
      ...Array.from({ length: 1_500 }, () => randomUUID()),
    ]
    await store.transaction((tx) =>
      executorOf(tx).query(
        `insert into regrow.ledger (job, key, state) select 'thing.make', key, 'quarantined' from jsonb_array_elements_text($1::text::jsonb) as x(key)`,
        [JSON.stringify(odd)],
      ),
    )
    await query(`insert into regrow.ledger (job, key, state) values ('other', 'a', 'quarantined')`)
    const keys: string[] = []
    let after: string | undefined
    do {
      const page = await operate(app).quarantine.list({ job: 'thing.make', limit: 400, ...(after ? { after } : {}) })
      keys.push(...page.keys.map(({ key }) => key))
      after = page.next ?? undefined
    } while (after)
    const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
    expect(keys).toEqual([...odd].sort(bytes))
    expect((await operate(app).quarantine.list({ limit: 1 })).keys).toMatchObject([{ job: 'other', key: 'a' }])
    expect((await operate(app).quarantine.release(thing.name, { all: true })).released).toHaveLength(odd.length)
    expect((await operate(app).quarantine.list()).keys).toMatchObject([{ job: 'other', key: 'a' }])
  })

  test('a misspelt job gets a guess, and a foreign cursor is refused', async () => {
    await twoQuarantined()
    const wrong = { code: 'unknown_job', hint: 'Did you mean "thing.make"?' }
    await expect(operate(app).quarantine.list({ job: 'thing.mkae' })).rejects.toMatchObject(wrong)
    await expect(operate(app).quarantine.show('thing.mkae', 'a')).rejects.toMatchObject(wrong)
    await expect(operate(app).quarantine.release('thing.mkae', 'a')).rejects.toMatchObject(wrong)
    await expect(operate(app).quarantine.drop('thing.mkae', 'a')).rejects.toMatchObject(wrong)
    await expect(operate(app).sweep({ jobs: ['thing.mkae'] })).rejects.toMatchObject(wrong)
    await expect(operate(app).quarantine.list({ after: 'nonsense' })).rejects.toMatchObject({ code: 'bad_options' })
  })

  test('status tells of each job what the tables say, and which live workers have its handler', async () => {
    const swept = new Promise<void>((resolve) => app.on('sweep.passed', ({ job }) => job === 'thing.make' && resolve()))
    await twoQuarantined()
    await swept
    // Nobody may free the silent one meanwhile.
    await worker?.stop({ grace: 0 })
    await query(
      `insert into regrow.workers values ('well', 'h', 2, '{"thing.make":"x","mail.send":"x"}', now(), now())`,
    )
    await query(`insert into regrow.ledger (job, key, state, retry_at) values ('old.job', 'a', 'retrying', now())`)
    await query(`insert into regrow.workers values ('dead', 'h', 1, '{"thing.make":"x"}', '2020-01-01', '2020-01-01')`)
    const { jobs, workers, queue, at } = await operate(app).status()
    expect(Math.abs(at.getTime() - Date.now())).toBeLessThan(60_000)
    expect(queue.shared).toBe(name === 'Postgres')
    expect(jobs.map(({ job }) => job)).toEqual(['mail.send', 'old.job', 'thing.make'])
    const [mail, old, thing] = jobs
    expect(mail).toMatchObject({ declared: true, quarantined: 1, retrying: 0, running: 0, intents: 1, workers: 1 })
    expect(old).toMatchObject({ declared: false, retrying: 1, workers: 0, sweep: null, pause: null })
    expect(thing).toMatchObject({
      declared: true,
      quarantined: 1,
      intents: 0,
      workers: 1,
      // What a worker that was told to stop has put back is there or not.
      hints: { due: expect.any(Number), delayed: expect.any(Number) },
    })
    expect(thing?.sweep).toMatchObject({ lastError: null, sweeping: false })
    expect(workers.map(({ live, jobs: handled }) => ({ live, handled }))).toEqual([
      { live: false, handled: ['thing.make'] },
      { live: true, handled: ['mail.send', 'thing.make'] },
    ])
  })

  test('a dry run pushes nothing and clears nothing; a sweep pushes what is missing', async () => {
    declare()
    await operate(app).status()
    await query(`insert into things select 'k' || n, 'pending' from generate_series(1, 9) n`)
    await query(`insert into regrow.ledger (job, key, state) values ('thing.make', 'k1', 'quarantined')`)
    const [dry] = await operate(app).sweep({ jobs: ['thing.make'], dryRun: true })
    expect(dry).toMatchObject({ dryRun: true, seen: 9, eligible: 8, held: 1, pushed: 8, finished: true, error: null })
    expect(dry?.keys).toEqual(['k2', 'k3', 'k4', 'k5', 'k6'])
    expect((await operate(app).status()).jobs.find(({ job }) => job === 'thing.make')).toMatchObject({
      sweep: null,
      hints: { due: 0, delayed: 0 },
    })
    expect(await operate(app).sweep({ jobs: ['thing.make'] })).toMatchObject([
      { seen: 9, eligible: 8, held: 1, pushed: 8 },
    ])
    const swept = (await operate(app).status()).jobs.find(({ job }) => job === 'thing.make')
    expect(swept).toMatchObject({
      hints: { due: 8, delayed: 0 },
      sweep: { seen: 9, pushed: 8, held: 1, sweeping: false },
    })
    expect(await operate(app).sweep({ jobs: ['thing.make'], dryRun: true })).toMatchObject([{ eligible: 8, pushed: 0 }])
    await app.close()
  })

  test('one job whose query is broken is told in its report, and the others are swept', async () => {
    declare()
    app.job('broken', { pending: sql`select id from nowhere` })
    await query(`insert into things values ('a', 'pending')`)
    const reports = await operate(app).sweep()
    expect(reports.map(({ job, error }) => [job, error === null])).toEqual([
      ['mail.send', true],
      ['thing.make', true],
      ['broken', false],
    ])
    expect(reports[2]?.error).toContain('nowhere')
    expect((await operate(app).status()).jobs.find(({ job }) => job === 'broken')?.sweep?.lastError).toContain(
      'nowhere',
    )
  })

  test('a sweep that somebody else is making is made beside it, and leaves its turn alone', async () => {
    declare()
    await operate(app).status()
    await query(`insert into things values ('a', 'pending')`)
    await query(`insert into regrow.workers values ('other', 'h', 1, '{}', now(), now())`)
    await store.sweeps.declare([{ job: 'thing.make', everyMs: 60_000 }])
    const { turns } = await store.sweeps.turn('other', ['thing.make'], 1)
    expect(await operate(app).sweep({ jobs: ['thing.make'] })).toMatchObject([{ seen: 1, pushed: 1, finished: true }])
    expect(await store.sweeps.advance('other', turns[0] as never, 'a')).toBe(true)
    await app.close()
  })

  test('a pause stops starts until it is resumed, which makes the sweep due; both are in the audit', async () => {
    const { thing } = declare()
    failing = false
    await operate(app).status()
    await store.pauses.pause('thing.make', 'provider is down', 'ann', null)
    worker = app.work()
    await worker.ready
    await query(`insert into things values ('a', 'pending')`)
    const refused = new Promise((resolve) => app.on('hint.refused', ({ why }) => resolve(why)))
    await thing.enqueue('a')
    expect(await refused).toBe('paused')
    expect((await operate(app).status()).jobs.find(({ job }) => job === 'thing.make')?.pause).toMatchObject({
      reason: 'provider is down',
      author: 'ann',
      until: null,
    })
    expect(await operate(app).sweep({ jobs: ['thing.make'], dryRun: true })).toMatchObject([{ paused: true }])
    const over = settled(1)
    expect(await store.pauses.resume('thing.make', 'bob')).toBe(true)
    expect(await over).toMatchObject([{ key: 'a', state: 'done' }])
    expect(await store.pauses.resume('thing.make', 'bob')).toBe(false)
    expect(await query('select author, action, job from regrow.audit order by id')).toEqual([
      { author: 'ann', action: 'pause', job: 'thing.make' },
      { author: 'bob', action: 'resume', job: 'thing.make' },
    ])
  })

  test('a pause for a time is over by itself; pausing again keeps its beginning while it holds', async () => {
    await operate(app).status()
    await store.pauses.pause('a', 'one', 'ann', 3_600_000)
    const [first] = await store.pauses.list()
    const since = first?.since ?? new Date(0)
    expect(first?.until?.getTime()).toBe(since.getTime() + 3_600_000)
    await store.pauses.pause('a', 'two', 'bob', null)
    expect(await store.pauses.list()).toMatchObject([{ job: 'a', reason: 'two', author: 'bob', since, until: null }])
    await store.pauses.pause('a', 'three', 'bob', 0)
    expect(await store.pauses.list()).toEqual([])
    await store.pauses.pause('a', 'four', 'bob', null)
    expect((await store.pauses.list())[0]?.since.getTime()).toBeGreaterThan(since.getTime())
  })

  test('migrate and status share one connection, and close ends it also when the store was never ready', async () => {
    let opened = 0
    let closed = 0
    const counting: StoreDriver = {
      ...driver,
      open: async () => {
        opened++
        const { store: inner, defaultQueue } = await driver.open({ clock: systemClock, leaseMs: 15_000 })
        const prepare = async () => {
          throw new Error('not now')
        }
        return { store: { ...inner, prepare, close: async () => void closed++ }, defaultQueue }
      },
    }
    const other = regrow({ store: counting })
    await operate(other).migrate()
    await expect(operate(other).status()).rejects.toThrow('not now')
    await expect(operate(other).status()).rejects.toThrow('not now')
    await other.close()
    expect({ opened, closed }).toEqual({ opened: 1, closed: 1 })
  })
})

test('a page of the list reads the index of quarantined keys, however many others there are', async () => {
  const fresh = await freshDatabase('quarantine_plan')
  const app = regrow({ store: postgres(fresh.url) })
  await operate(app).migrate()
  await app.close()
  const client = new pg.Client({ connectionString: fresh.url })
  await client.connect()
  try {
    await client.query(
      `insert into regrow.ledger (job, key, state) select 'job' || n % 3, n::text, case when n % 1000 = 0 then 'quarantined' else 'retrying' end from generate_series(1, 30000) n`,
    )
    await client.query('analyze regrow.ledger')
    const { statements } = await import('../../src/drivers/postgres/store/statements.gen.ts')
    const filters = [
      [null, null, null, null],
      ['refused', -3_600_000, -1, '7'],
    ]
    for (const filter of filters) {
      const params = ['job1', ...filter, 'job1', '5', 20]
      const { rows } = await client.query(`explain ${statements.quarantine.list}`, params)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(plan).toContain('ledger_quarantined')
    }
  } finally {
    await client.end()
    await fresh.drop()
  }
})
