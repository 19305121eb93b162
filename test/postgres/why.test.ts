// Why does this key not run? Each prepared reason, on a real Postgres, and on Redis where the queue matters.

import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { memory } from '../../src/drivers/memory/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { type App, type QueueDriver, regrow, sql, type WorkerHandle } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { freshRedis } from '../services/redis.ts'

const tables = `
create table things (id text primary key, state text not null default 'pending', tries int not null default 0, run_at timestamptz);
create index on things (id) where state = 'pending';
create table pairs (a int, b text, done boolean not null default false, primary key (a, b));
create table stalls (id bigint primary key, version int not null default 1);
create table owners (id text primary key);
create table parts (id int, at date) partition by range (at);
create table parts_old partition of parts for values from ('2020-01-01') to ('2021-01-01')`

let database: FreshDatabase
let client: pg.Client
const apps: App[] = []
const workers: WorkerHandle[] = []

beforeAll(async () => {
  database = await freshDatabase('why')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(tables)
  const { app } = declared()
  await operate(app).migrate()
})
beforeEach(() =>
  client.query(
    `truncate things, pairs, stalls, owners, parts, regrow.ledger, regrow.workers, regrow.sweeps, regrow.intents, regrow.hints, regrow.pauses`,
  ),
)
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop({ grace: 0 })
  for (const app of apps.splice(0)) await app.close()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

function declared(queue?: QueueDriver) {
  const gate = { open: () => {}, begun: () => {} }
  const begun = new Promise<void>((resolve) => (gate.begun = resolve))
  const opened = new Promise<void>((resolve) => (gate.open = resolve))
  const app = regrow({ store: postgres(database.url), ...(queue ? { queue } : {}) })
  apps.push(app)
  const sweep = { every: '1h' } as const
  const thing = app.job('thing', {
    pending: sql`select id, run_at from things where state = 'pending' and tries < ${5}`,
    sweep,
    async run(id) {
      if (id === 'bad') throw new Error('no such thing')
      gate.begun()
      await opened
    },
  })
  app.job('brittle', {
    pending: sql`select id from things where state = 'brittle'`,
    sweep,
    retry: { attempts: 1 },
    run() {
      throw new Error('it broke: password=hunter2')
    },
  })
  const pair = app.job('pair', {
    key: { a: 'int', b: 'text' },
    pending: sql`select a, b from pairs where not done`,
    sweep,
  })
  const single = app.job('single', {
    pending: sql`select id from things where state = 'single'`,
    sweep,
    concurrency: 1,
    async run() {
      gate.begun()
      await opened
    },
  })
  app.job('stall', { key: 'bigint', pending: sql`select id, version from stalls`, sweep, run() {} })
  app.job('joined', { pending: sql`select t.id from things t join owners o on o.id = t.state`, sweep })
  app.job('nested', { pending: sql`select id from things where state = (select min(id) from owners)`, sweep })
  app.job('switched', {
    pending: sql`select id from things where state = 'pending' and exists (select 1 from owners where id = ${'on'})`,
    sweep,
  })
  app.job('part', { key: 'int', pending: sql`select id from parts where at = '2020-02-02'`, sweep })
  app.job('gone', { pending: sql`select id from nowhere`, sweep })
  app.job('nightly', { schedule: { cron: '0 3 * * *' }, run() {} })
  const mail = app.job('mail', { input: z.object({ to: z.string() }), sweep })
  return { app, thing, single, pair, mail, gate, begun }
}

/** A worker that beats, has the handlers of these jobs, and does nothing. */
const somebody = (
  beat = "interval '0'",
  id = 'w1',
  jobs = '{"thing":"","pair":"","mail":"","brittle":"","stall":"","gone":""}',
) =>
  client.query(
    `insert into regrow.workers (id, host, pid, jobs, started_at, beat_at) values ($1, 'host-a', 41, $2::jsonb, now(), clock_timestamp() - ${beat})`,
    [id, jobs],
  )
async function swept(job: string, more = 'errors = 0'): Promise<void> {
  await client.query(
    `insert into regrow.sweeps (job, next_at, every_ms, last_success_at) values ($1, now() + interval '40 minutes', 3600000, now())`,
    [job],
  )
  await client.query(`update regrow.sweeps set ${more} where job = $1`, [job])
}
const row = (id: string, more = 'default, default, default') =>
  client.query(`insert into things values ('${id}', ${more})`)
const event = (app: App, name: 'job.settled' | 'job.no_progress') =>
  new Promise<unknown>((resolve) => app.on(name, resolve))

/** Asks the database until `text` is true. */
async function until(text: string): Promise<void> {
  while ((await client.query(`select (${text}) as yes, pg_sleep(0.02)::text`)).rows[0]?.yes !== true);
}

async function working(app: App): Promise<WorkerHandle> {
  const worker = app.work()
  workers.push(worker)
  await worker.ready
  return worker
}

test('no_row: the table has no row of this key', async () => {
  await somebody()
  const { app } = declared()
  expect(await operate(app).why('thing', 'x')).toMatchObject({
    reason: 'no_row',
    sentence: 'The table things has no row of this key.',
    facts: { pending: { state: 'not' }, ledger: null },
  })
})

test('not_pending: it names each condition that the row fails, and what it found, behind a partial index too', async () => {
  await row('a', `'ready', 7`)
  const { app } = declared()
  const { reason, sentence, also } = await operate(app).why('thing', 'a')
  expect(reason).toBe('not_pending')
  expect(sentence).toContain(`state = 'pending' (state is 'ready')`)
  expect(sentence).toContain(`tries < 5 (tries is '7')`)
  expect(also.map((each) => each.reason)).toEqual(['no_worker'])
  await client.query(`update things set state = 'pending'`)
  expect((await operate(app).why('thing', 'a')).sentence).toContain(`What fails: tries < 5 (tries is '7').`)
})

test('not_pending: a query that is not simple enough is told as that, and never guessed at', async () => {
  await row('a')
  const { app } = declared()
  for (const [job, why] of [
    ['joined', 'it is more than one table with conditions'],
    ['nested', 'the condition that it fails holds a subquery'],
  ] as const)
    expect(await operate(app).why(job, 'a')).toMatchObject({
      reason: 'not_pending',
      sentence: expect.stringContaining(why),
    })
  expect((await operate(app).why('part', 1)).sentence).toContain('it reads a partitioned table')
})

test('not_pending: a condition that does not look at the row is named, and is no contradiction', async () => {
  await row('a')
  const { app } = declared()
  expect(await operate(app).why('switched', 'a')).toMatchObject({
    reason: 'not_pending',
    sentence:
      "Its row in things is there, but the pending query does not return it. What fails: exists (select … from owners where id = 'on') (which does not look at the row: it fails for all rows).",
  })
  await client.query(`insert into owners values ('on')`)
  expect((await operate(app).why('switched', 'a')).facts.pending).toMatchObject({ state: 'pending' })
  await client.query(`update things set state = 'ready'`)
  expect((await operate(app).why('switched', 'a')).sentence).toContain(
    `What fails: state = 'pending' (state is 'ready').`,
  )
})

test('not_pending: a composite key is taken as lists print it, as a JSON array, and as an object', async () => {
  await client.query(`insert into pairs values (1, 'x y', true)`)
  const { app } = declared()
  for (const key of ['["1","x y"]', '[1,"x y"]', '{"a":1,"b":"x y"}', { a: 1, b: 'x y' }])
    expect(await operate(app).why('pair', key)).toMatchObject({
      key: '["1","x y"]',
      reason: 'not_pending',
      sentence: expect.stringContaining(`NOT done (done is 'true')`),
    })
  await expect(operate(app).why('pair', 'x')).rejects.toThrow('an object with a, b')
})

test('run_at: the row says when', async () => {
  await somebody()
  await row('a', `default, default, now() + interval '2 hours'`)
  const { app } = declared()
  const { reason, sentence, nextAt, facts } = await operate(app).why('thing', 'a')
  expect(reason).toBe('run_at')
  expect(sentence).toMatch(/^`run_at` of its row is .*Z, in (2h|1h 59m)/)
  expect(Math.round((Number(nextAt) - Number(facts.at)) / 60_000)).toBe(120)
})

test('paused: by whom and why, and what ends it', async () => {
  await somebody()
  await row('a')
  const { app } = declared()
  await app.pause('thing', { reason: 'the provider is down', author: 'ann', for: '1h' })
  const found = await operate(app).why('thing', 'a')
  expect(found).toMatchObject({
    reason: 'paused',
    sentence: expect.stringMatching(/by ann: the provider is down$/),
    next: expect.stringMatching(/^The pause is over in (1h|59m)/),
    commands: [{ line: 'regrow resume thing' }],
  })
})

test('quarantined: its error without secrets, and how to release it', async () => {
  await row('k 1', `'brittle'`)
  const { app } = declared()
  const settled = event(app, 'job.settled')
  await working(app)
  await settled
  expect(await operate(app).why('brittle', 'k 1')).toMatchObject({
    reason: 'quarantined',
    sentence: expect.stringMatching(/after 1 failure\. Last error: Error: it broke: password=\[redacted\]$/),
    commands: [{ line: `regrow quarantine show brittle 'k 1'` }, { line: `regrow quarantine release brittle 'k 1'` }],
  })
})

test('backed_off: until when, after how many failures', async () => {
  await row('bad')
  const { app } = declared()
  const settled = event(app, 'job.settled')
  await working(app)
  await settled
  const found = await operate(app).why('thing', 'bad')
  expect(found).toMatchObject({
    reason: 'backed_off',
    sentence: expect.stringMatching(/^It failed 1 time, and waits until .*Last error: Error: no such thing$/),
    next: expect.stringContaining('for the 2nd time; after 20 failures'),
    facts: { ledger: { failures: 1 } },
  })
  expect(found.nextAt).toEqual(found.facts.ledger?.retryAt)
})

test('no_progress: it ran and returned, and the row stayed pending', async () => {
  await client.query(`insert into stalls values (7)`)
  const { app } = declared()
  const stalled = event(app, 'job.no_progress')
  await working(app)
  await stalled
  expect(await operate(app).why('stall', 7n)).toMatchObject({
    reason: 'no_progress',
    sentence: expect.stringContaining('ran and returned 1 time, but the row stayed pending'),
  })
})

test('running: another process has it now, and beats', async () => {
  await row('a')
  const elsewhere = declared()
  await working(elsewhere.app)
  await elsewhere.begun
  const { app } = declared()
  const found = await operate(app).why('thing', 'a')
  expect(found).toMatchObject({
    reason: 'running',
    sentence: expect.stringMatching(new RegExp(`^It is running now: .*, pid ${process.pid}, for .* last beat`)),
  })
  elsewhere.gate.open()
})

test('claim_silent: who has it says nothing any more', async () => {
  await row('a')
  await somebody("interval '5 minutes'", 'dead')
  await client.query(
    `insert into regrow.ledger (job, key, holder, take, state) values ('thing', 'a', 'dead', 1, 'running')`,
  )
  const { app } = declared()
  expect(await operate(app).why('thing', 'a')).toMatchObject({
    reason: 'claim_silent',
    sentence: expect.stringMatching(/^It is claimed by host-a, pid 41, which has been silent for 5m/),
    next: expect.stringContaining('No worker is alive to free the claim'),
    commands: [{ line: 'regrow work' }],
  })
  await somebody()
  expect((await operate(app).why('thing', 'a')).next).toContain('A live worker frees the claim')
})

test('suspect: it waits to run alone', async () => {
  await row('a')
  await somebody()
  await client.query(`insert into regrow.ledger (job, key, crashes, state) values ('thing', 'a', 2, 'retrying')`)
  const { app } = declared()
  expect(await operate(app).why('thing', 'a')).toMatchObject({
    reason: 'suspect',
    sentence: expect.stringContaining('Its process died 2 times while it ran: it is a suspect'),
  })
})

test('no_worker: no live worker has the handler', async () => {
  await row('a')
  await somebody("interval '0'", 'w1', '{"mail":""}')
  const { app } = declared()
  expect(await operate(app).why('thing', 'a')).toMatchObject({
    reason: 'no_worker',
    sentence: 'No live worker has the handler of thing: 1 worker lives, with other jobs; none ever had it.',
    commands: [{ line: 'regrow work --only thing' }],
  })
})

test('sweep_failing: no hint, and who would bring one fails', async () => {
  await row('a')
  await somebody()
  await swept('thing', `errors = 3, last_error = 'permission denied'`)
  const { app } = declared()
  expect(await operate(app).why('thing', 'a')).toMatchObject({
    reason: 'sweep_failing',
    sentence: expect.stringContaining('failed 3 times in a row. Last error: permission denied'),
    next: expect.stringContaining('a lost hint stays lost'),
    commands: [{ line: 'regrow sweep thing --dry-run' }, { line: 'regrow enqueue thing a' }],
  })
})

test('sweep_late, not_hinted: the sweep that would find it is late, or due in its time', async () => {
  await row('a')
  await somebody()
  await swept('thing')
  const { app } = declared()
  expect(await operate(app).why('thing', 'a')).toMatchObject({
    reason: 'not_hinted',
    next: expect.stringMatching(/^The sweep finds it: the next pass is due in (40|39)m/),
    commands: [{ line: 'regrow enqueue thing a' }, { line: 'regrow sweep thing' }],
  })
  await client.query(`update regrow.sweeps set next_at = now() - interval '10 minutes'`)
  expect(await operate(app).why('thing', 'a')).toMatchObject({
    reason: 'sweep_late',
    sentence: expect.stringContaining('10m'),
  })
})

test.each(['postgres', 'redis'] as const)(
  'queued, hinted_later: it has a hint in %s, with others before it, or for later',
  async (kind) => {
    const { url, namespace } = freshRedis('why')
    const { app, thing } = declared(kind === 'redis' ? redis(url, { namespace }) : undefined)
    await somebody()
    for (const id of ['a', 'b', 'c', 'd']) await row(id)
    await thing.enqueueMany(['a', 'b', 'c'])
    expect(await operate(app).why('thing', 'c')).toMatchObject({
      reason: 'queued',
      sentence: expect.stringContaining('with 2 others of its job'),
      facts: { hint: { dueInMs: 0, fresh: true }, dueHints: 3 },
    })
    await thing.enqueue('d', { jitter: ['30m', '40m'] })
    const later = await operate(app).why('thing', 'd')
    expect(later).toMatchObject({ reason: 'hinted_later', commands: [{ line: 'regrow enqueue thing d' }] })
    expect(later.facts.hint).toMatchObject({ dueInMs: expect.any(Number) })
  },
)

test('slots_full: its hint waits only for a free slot of its job, though the worker has others', async () => {
  await client.query(`insert into things (id, state) values ('a', 'single'), ('b', 'single'), ('c', 'single')`)
  const elsewhere = declared()
  await working(elsewhere.app)
  await elsewhere.single.enqueue('a')
  await elsewhere.begun
  await elsewhere.single.enqueueMany(['b', 'c'])
  const { app } = declared()
  expect(await operate(app).why('single', 'b')).toMatchObject({
    reason: 'slots_full',
    sentence: expect.stringContaining(
      'it waits only for a free slot of its job: single has `concurrency` 1, so the one worker that has it runs 1 call of it at a time, and 1 key of it runs now.',
    ),
    facts: { running: 1, concurrency: 1 },
  })
  const settled = event(elsewhere.app, 'job.settled')
  elsewhere.gate.open()
  await settled
})

test('queue_full: the sweep left it out', async () => {
  const { url, namespace } = freshRedis('why')
  const { app } = declared(redis(url, { namespace, maxHints: 2 }))
  await somebody()
  for (const id of ['a', 'b', 'c', 'd']) await row(id)
  await operate(app).sweep({ jobs: ['thing'] })
  await client.query(`update regrow.sweeps set dropped = 2`)
  expect(await operate(app).why('thing', 'a')).toMatchObject({
    reason: 'queued',
    sentence: expect.stringContaining('The queue is full'),
  })
  expect(await operate(app).why('thing', 'd')).toMatchObject({
    reason: 'queue_full',
    sentence: expect.stringContaining('the queue is full (2 hints of the job are due)'),
  })
})

test('queue_down: the queue does not answer, and the answer comes all the same', async () => {
  const { app } = declared(redis('redis://127.0.0.1:1', { namespace: 'none' }))
  await somebody()
  await row('a')
  expect(await operate(app).why('thing', 'a')).toMatchObject({
    reason: 'queue_down',
    facts: { hint: 'unknown', dueHints: null },
  })
})

test('hint_unknown: hints in the memory of other processes cannot be seen', async () => {
  const { app } = declared(memory())
  await somebody()
  await row('a')
  const { reason, commands } = await operate(app).why('thing', 'a')
  expect(reason).toBe('hint_unknown')
  expect(commands).toEqual([{ line: 'regrow sweep thing', does: expect.any(String) }])
})

test('query_broken: the pending query cannot be asked', async () => {
  await somebody()
  const { app } = declared()
  expect(await operate(app).why('gone', 'a')).toMatchObject({
    reason: 'query_broken',
    sentence: expect.stringContaining('relation "nowhere" does not exist'),
  })
})

test('an intent is asked for by its id: stored and for later, or not there', async () => {
  await somebody()
  const { app, mail } = declared()
  const { key: id } = await mail.enqueue({ to: 'ann' }, { in: '2h' })
  expect(await operate(app).why('mail', id.toUpperCase())).toMatchObject({
    key: id,
    reason: 'run_at',
    sentence: expect.stringMatching(/^It was enqueued for .*Z, in (2h|1h 59m)/),
    facts: { kind: 'input', intent: { createdAt: expect.any(Date), runAt: expect.any(Date) } },
  })
  expect(await operate(app).why('mail', '00000000-0000-0000-0000-000000000000')).toMatchObject({
    reason: 'no_row',
    sentence: expect.stringContaining('There is no intent of this id'),
  })
})

test('a slot is asked for by its key: due later, or no longer waiting', async () => {
  const { app } = declared()
  await working(app)
  await until(`select count(*) > 0 from regrow.slots where state = 'waiting'`)
  const [{ key }] = (await client.query(`select key from regrow.slots where state = 'waiting'`)).rows
  expect(await operate(app).why('nightly', key)).toMatchObject({
    reason: 'run_at',
    sentence: expect.stringMatching(/^Its slot is due at .*Z, in /),
    facts: { kind: 'schedule', item: null },
  })
  expect(await operate(app).why('nightly', 'nightly@1@2020-01-01T00:00:00.000Z')).toMatchObject({
    reason: 'no_row',
    sentence: expect.stringContaining('There is no waiting slot of this key'),
  })
  await expect(operate(app).why('nightly', 'x')).rejects.toMatchObject({ code: 'bad_key' })
})

test('reasons that hold at the same time are told in the order in which they have to go', async () => {
  await row('a', `default, default, now() + interval '2 hours'`)
  await client.query(
    `insert into regrow.ledger (job, key, failures, state, error) values ('thing', 'a', 20, 'quarantined', 'x')`,
  )
  const { app } = declared()
  await app.pause('thing', { reason: 'r', author: 'ann' })
  const { reason, also } = await operate(app).why('thing', 'a')
  expect([reason, ...also.map((each) => each.reason)]).toEqual(['quarantined', 'paused', 'run_at', 'no_worker'])
})

test('an unknown job gets a guess, and a key of another type is refused', async () => {
  const { app } = declared()
  await expect(operate(app).why('thnig', 'a')).rejects.toMatchObject({
    code: 'unknown_job',
    hint: 'Did you mean "thing"?',
  })
  await expect(operate(app).why('stall', 'abc')).rejects.toMatchObject({ code: 'bad_key' })
})
