// What a pass would do, told without doing it; and long passes that tell how far they are and end when they are told to.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { memory } from '../../src/drivers/memory/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { type App, type QueueDriver, regrow, sql } from '../../src/index.ts'
import { operate, type Progress } from '../../src/operate/index.ts'
import { QueuePlace } from '../services/queue-place.ts'
import { freshRedis } from '../services/redis.ts'

let place: QueuePlace
const apps: App[] = []
beforeAll(async () => {
  place = await QueuePlace.open('dry_run', 'create table things (id text primary key, run_at timestamptz)')
})
afterAll(() => place.close())
beforeEach(() => query('truncate things, regrow.ledger, regrow.sweeps, regrow.hints, regrow.workers, regrow.pauses'))
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

const query = async (text: string) => (await place.beside.query(text)).rows
function opened(queue?: QueueDriver) {
  const app = regrow({ store: postgres(place.database.url), ...(queue ? { queue } : {}) })
  apps.push(app)
  const thing = app.job('thing', { pending: sql`select id, run_at from things` })
  app.job('own', {
    pending: {
      page: async (after: string | null) => (after === null ? [{ key: 'a' }, { key: 'b' }] : []),
      isPending: async () => [],
    },
  })
  return { app, thing }
}

/** Ten rows: four that may run, and one or two of each that may not. */
async function ten(): Promise<void> {
  await query(
    `insert into things select 'k' || n, case when n >= 9 then now() + interval '1 day' end from generate_series(0, 9) n`,
  )
  await query(`insert into regrow.ledger (job, key, state, holder, take, retry_at) values
    ('thing', 'k1', 'running', 'w', 1, null), ('thing', 'k2', 'quarantined', null, null, null),
    ('thing', 'k3', 'quarantined', null, null, null), ('thing', 'k4', 'retrying', null, null, now() + interval '1 hour'),
    ('thing', 'k5', 'retrying', null, null, now() + interval '1 second'), ('other', 'k6', 'running', 'w', 2, null)`)
}

test.each(['postgres', 'redis'] as const)(
  'a dry run tells why rows are held, and which hints are in %s already',
  async (kind) => {
    const { url, namespace } = freshRedis('dry')
    const { app, thing } = opened(kind === 'redis' ? redis(url, { namespace }) : undefined)
    await operate(app).status()
    await ten()
    // One that would be pushed, one that is held, and two without a row: by number they would hide four.
    await thing.enqueueMany(['k0', 'k2', 'gone', 'gone too'])
    const [dry] = await operate(app).sweep({ jobs: ['thing'], dryRun: true })
    expect(dry).toMatchObject({
      ...{ seen: 10, eligible: 5, held: 5, hinted: 1, pushed: 4, finished: true, stopped: false, error: null },
      heldBy: { running: 1, quarantined: 2, backedOff: 1, later: 1 },
    })
    expect(await operate(app).sweep({ jobs: ['thing'] })).toMatchObject([
      { seen: 10, held: 5, pushed: 4, heldBy: null, hinted: null },
    ])
  },
)

test('where hints cannot be seen one by one, the count of them tells at least how many are missing', async () => {
  const { app } = opened(memory())
  await operate(app).status()
  await ten()
  expect(await operate(app).sweep({ jobs: ['thing'], dryRun: true })).toMatchObject([
    { eligible: 5, hinted: null, pushed: 5 },
  ])
  expect(await operate(app).sweep({ jobs: ['own'], dryRun: true })).toMatchObject([
    { seen: 2, heldBy: null, hinted: null },
  ])
})

test('a dry run of a queue that does not answer still tells what is pending', async () => {
  const { app } = opened(redis('redis://127.0.0.1:1', { namespace: 'none' }))
  await ten()
  expect(await operate(app).sweep({ jobs: ['thing'], dryRun: true })).toMatchObject([
    { seen: 10, eligible: 5, hinted: null, pushed: 5, error: null },
  ])
})

test('of a paused job nothing would be pushed', async () => {
  const { app } = opened()
  await operate(app).status()
  await ten()
  await app.pause('thing', { reason: 'r' })
  expect(await operate(app).sweep({ jobs: ['thing'], dryRun: true })).toMatchObject([
    { eligible: 5, pushed: 0, paused: true },
  ])
})

test('long passes tell how far they are; a signal ends them at the next page, and workers go on from there', async () => {
  const { app } = opened()
  await operate(app).status()
  await query(`insert into things select to_char(n, 'FM000000') from generate_series(1, 25000) n`)
  await query('analyze things')
  for (const dryRun of [true, false]) {
    const told: Progress[] = []
    const stop = new AbortController()
    const onProgress = (progress: Progress) => {
      told.push(progress)
      stop.abort()
    }
    const [report] = await operate(app).sweep({ dryRun, onProgress, signal: stop.signal })
    expect(report).toMatchObject({ job: 'thing', seen: 10_000, finished: false, stopped: true, error: null })
    expect(told).toEqual([{ what: 'thing', done: 10_000, total: 25_000 }])
  }
  expect(await query(`select cursor, holder, next_at <= clock_timestamp() as due from regrow.sweeps`)).toEqual([
    { cursor: '010000', holder: null, due: true },
  ])
  const told: number[] = []
  await operate(app).sweep({ jobs: ['thing'], onProgress: ({ done }) => told.push(done) })
  expect(told).toEqual([10_000, 20_000, 25_000])
})

test.each([
  ['behind the first', 'select id from things; delete from things'],
  ['behind the end of a string with a doubled quote', `select id from things where id <> 'it''s' ; delete from things`],
  [
    'that closes what the query is put in',
    'select id from things) q; delete from things; select id from (select id from things',
  ],
])('a second statement %s is refused, and nothing of it is executed', async (_, text) => {
  const { app } = opened()
  await ten()
  app.job('two', { pending: { text, values: [] } })
  for (const dryRun of [true, false]) {
    const [report] = await operate(app).sweep({ jobs: ['two'], dryRun, onProgress() {} })
    expect(report?.error).toMatch(/the pending query holds more than one statement.*Write one SELECT/s)
  }
  const { findings } = await operate(app).doctor()
  expect(findings.filter(({ code }) => code === 'pending_refused')).toMatchObject([{ job: 'two' }])
  expect(await operate(app).why('two', 'k0')).toMatchObject({ reason: 'query_broken' })
  expect(await query('select count(*)::int as n from things')).toEqual([{ n: 10 }])
})

test('a function is refused as soon as its query becomes two statements', async () => {
  const { app } = opened()
  await ten()
  let text = 'select id from things'
  app.job('turned', { pending: () => ({ text, values: [] }) })
  expect(await operate(app).sweep({ jobs: ['turned'], dryRun: true, onProgress() {} })).toMatchObject([
    { seen: 10, error: null },
  ])
  text = 'select id from things) q; delete from things; select id from (select id from things'
  const [report] = await operate(app).sweep({ jobs: ['turned'], dryRun: true, onProgress() {} })
  expect(report?.error).toContain('more than one statement')
  expect(await query('select count(*)::int as n from things')).toEqual([{ n: 10 }])
})

test('a semicolon in a string, in a comment or at the end is no second statement', async () => {
  const { app } = opened()
  await ten()
  app.job('one', { pending: { text: `select id from things where id <> ';' /* ; */ -- ;\n;`, values: [] } })
  expect(await operate(app).sweep({ jobs: ['one'], dryRun: true, onProgress() {} })).toMatchObject([
    { seen: 10, error: null },
  ])
})
