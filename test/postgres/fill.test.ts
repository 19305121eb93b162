// Lower arrow on Postgres: a page that the queue reads by itself makes the same hints as one whose keys came here, and what
// goes wrong with it goes wrong in the same way.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { Events } from '../../src/base/events.ts'
import type { EventMap } from '../../src/job/event-map.ts'
import { type Job, readJob } from '../../src/job/job.ts'
import { Canary } from '../../src/queue/canary.ts'
import { fillDoor, pushDoor } from '../../src/queue/push.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { pass } from '../../src/sweep/pass.ts'
import type { PassResult } from '../../src/sweep/pass-step.ts'
import { Seeded } from '../../src/testing/seeded.ts'
import { QueuePlace } from '../services/queue-place.ts'

let place: QueuePlace
beforeAll(async () => {
  place = await QueuePlace.open(
    'fill',
    `create table things (id int primary key, version int, run_at timestamptz, note text);
     create table parts (tenant int, name text, version int, run_at timestamptz, primary key (tenant, name));
     create table words (id text primary key, note text)`,
  )
})
afterAll(() => place.close())
beforeEach(() => place.beside.query(`truncate things, parts, words, regrow.ledger, regrow.hints, regrow.canary`))

const query = (text: string, values: string[] = []) => ({ text, values })
const things = readJob('a', { key: 'int', pending: query('select id, version, run_at from things') }).job
const plain = readJob('a', { key: 'int', pending: query('select id from things') }).job
const parts = readJob('a', {
  key: { tenant: 'int', name: 'text' },
  pending: query('select tenant, name, version, run_at from parts'),
}).job

interface Way {
  /** False: keys come here. */
  readonly inside?: boolean
  readonly queue?: Queue
  readonly paused?: boolean
  readonly rampedMs?: number
  readonly epoch?: number
}

/** What events told of a pass, besides its result. */
let told: string[] = []

function sweep(job: Job, way: Way = {}): Promise<PassResult> {
  const { inside = true, queue = place.queue(), paused = false, rampedMs = null, epoch = null } = way
  told = []
  const events = new Events<EventMap>()
  events.on('*', (_detail, name) => told.push(name))
  const ports = {
    clock: systemClock,
    random: { float: () => 0.5, hex: () => '' },
    source: place.store.source(job),
    ledger: place.store.ledger,
    push: pushDoor(queue, events, systemClock),
    fill: fillDoor(inside ? queue : {}, events),
    advance: async () => true,
  }
  const start = { cursor: null, paused, rampedMs, brief: 'none', epoch } as const
  return pass(ports, job, start, new AbortController().signal)
}

/** What a pass left behind; times as far as two passes right after each other agree. */
const left = async () => ({
  hints: await place.rows(`select job, key, fresh, case when due_at <= clock_timestamp() then 'due'
    else round(extract(epoch from due_at) / 20)::text end as due from regrow.hints order by job, key collate "C"`),
  ledger: await place.rows(
    `select key, version, holder, state, failures, retry_at::text from regrow.ledger order by key collate "C"`,
  ),
})

/** Rows in every state that the ledger knows, some of them hinted; `key` as SQL of the row's number. */
async function fillTables(seeded: Seeded, key: string): Promise<void> {
  const rows = Array.from({ length: 200 }, (_, n) => ({
    n,
    version: seeded.pick([null, 1, 2]),
    // In twenties, so that a second between two passes is not seen: some wait for less than the next sweep, some for more.
    run: seeded.pick([null, null, -40, 40, 3_600]),
    ledger: seeded.pick([null, null, null, 'running', 'retrying', 'quarantined']),
    ledger_version: seeded.pick([null, '1', '2']),
    retry: seeded.pick([null, -60, 40, 7_200]),
    hint: seeded.pick([null, null, null, 'swept', 'fresh', 'delayed']),
  }))
  const list = `jsonb_to_recordset($1::text::jsonb) as x(n int, version int, run int, ledger text, ledger_version text, retry int, hint text)`
  const at = (seconds: string) =>
    `to_timestamp(floor(extract(epoch from now()) / 20) * 20) + make_interval(secs => ${seconds})`
  const given = [JSON.stringify(rows)]
  await place.rows(`insert into things select n, version, ${at('run')} from ${list}`, given)
  await place.rows(`insert into parts select n % 7, 'p"' || n, version, ${at('run')} from ${list}`, given)
  await place.rows(
    `insert into regrow.ledger (job, key, version, holder, take, state, failures, retry_at)
      select 'a', ${key}, ledger_version, case when ledger = 'running' then 'w' end, case when ledger = 'running' then n end,
        ledger, 1, ${at('retry')} from ${list} where ledger is not null`,
    given,
  )
  await place.rows(
    `insert into regrow.hints (job, key, fresh, due_at)
      select 'a', ${key}, hint = 'fresh', now() + make_interval(secs => case when hint = 'delayed' then 3600 else -5 end)
      from ${list} where hint is not null`,
    given,
  )
}

const seed = Number(process.env.REGROW_SEED ?? Math.floor(Math.random() * 2 ** 31))
const told5 = ({ seen, pushed, held, dropped, ended }: PassResult) => ({ seen, pushed, held, dropped, ended })

describe.each([
  ['one key', things, 'n::text'],
  ['a key of two columns', parts, `'[' || to_json((n % 7)::text)::text || ',' || to_json('p"' || n)::text || ']'`],
] as const)('rows with %s', (_name, job, key) => {
  test.each([0, 1, 2])(`random rows give the same hints as by their keys (seed ${seed} + %i)`, async (round) => {
    const seeded = new Seeded(seed + round)
    await fillTables(seeded, key)
    await place.rows(`create table if not exists kept_hints as select * from regrow.hints with no data`)
    await place.rows(`create table if not exists kept_ledger as select * from regrow.ledger with no data`)
    await place.rows(`insert into kept_hints select * from regrow.hints`)
    await place.rows(`insert into kept_ledger select * from regrow.ledger`)
    const byKeys = await sweep(job, { inside: false })
    const expected = await left()
    await place.rows(`truncate regrow.hints, regrow.ledger`)
    await place.rows(`insert into regrow.hints select * from kept_hints`)
    await place.rows(`insert into regrow.ledger select * from kept_ledger`)
    await place.rows(`drop table kept_hints, kept_ledger`)
    let filled = 0
    const queue = place.queue()
    const counting = Object.create(queue, {
      filler: { value: { fill: (request: never) => queue.filler?.fill(request).finally(() => filled++) } },
      push: { value: queue.push.bind(queue) },
    }) as Queue
    const inside = await sweep(job, { queue: counting })
    expect(filled).toBe(1)
    expect(await left()).toEqual(expected)
    expect(told5(inside)).toEqual(told5(byKeys))
    expect(Math.abs((inside.oldestMs ?? 0) - (byKeys.oldestMs ?? 0))).toBeLessThan(10_000)
    expect(expected.hints.length).toBeGreaterThan(50)
  })
})

/** Simply pending rows. */
const insert = (count: number) => place.rows(`insert into things (id) select generate_series(1, ${count})`)
const hinted = async () => (await place.rows(`select key from regrow.hints order by key::int`)).map(({ key }) => key)

/** A queue that takes pages, and nothing in any other way. */
const withoutKeys = () =>
  ({ filler: place.queue().filler, push: () => Promise.reject(new Error('no keys')) }) as unknown as Queue

test('a paused job gets no hints', async () => {
  await insert(50)
  expect(await sweep(plain, { paused: true })).toMatchObject({ seen: 50, held: 50, pushed: 0, ended: 'finished' })
  expect(await hinted()).toEqual([])
})

test.each([false, true])(
  'at its bound the queue takes as many as by their keys, and the pass ends there (inside: %s)',
  async (inside) => {
    await insert(50)
    const queue = place.queue({ bounds: { maxHints: 20 } })
    expect(await sweep(plain, { inside, queue })).toMatchObject({
      seen: 50,
      pushed: 20,
      dropped: 30,
      ended: 'full',
      passed: 0,
    })
    expect(await hinted()).toHaveLength(20)
    expect(told).toEqual(['hint.dropped'])
  },
)

test('two pages on their way do not both take the room that is left (S11)', async () => {
  await insert(31_000)
  const queue = place.queue({ bounds: { maxHints: 15_000 } })
  const result = await sweep(plain, { queue, rampedMs: 60_000 })
  expect(result).toMatchObject({ ended: 'full' })
  expect(await hinted()).toHaveLength(15_000)
})

test('a queue of another epoch takes nothing: the pass ends as lost, and the loss is looked into (M42)', async () => {
  await insert(50)
  const queue = place.queue()
  await queue.setMark({ epoch: 5, sequence: 1 })
  let suspicions = 0
  const canary = new Canary(() => suspicions++)
  const watched = canary.watch(queue)
  expect(await sweep(plain, { queue: watched, epoch: 4 })).toMatchObject({ pushed: 0, cursor: null, ended: 'lost' })
  expect([suspicions, await hinted()]).toEqual([1, []])
  expect(await sweep(plain, { queue: watched, epoch: 5 })).toMatchObject({ pushed: 50, ended: 'finished' })
  await queue.wipe()
  expect(await sweep(plain, { queue: watched, epoch: 5 })).toMatchObject({ pushed: 0, ended: 'lost' })
})

test('a key that somebody else pushes at the same moment is one hint, and the page ends well', async () => {
  await insert(50)
  await place.beside.query(`begin; insert into regrow.hints (job, key, due_at, fresh) values ('a', '7', now(), true)`)
  const swept = sweep(plain, { queue: withoutKeys() })
  const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await place.rows(waits)).length === 0) await place.rows('select pg_sleep(0.005)')
  await place.beside.query('commit')
  expect(await swept).toMatchObject({ seen: 50, pushed: 49, dropped: 0, ended: 'finished' })
  expect(await hinted()).toHaveLength(50)
  expect(await place.rows(`select key from regrow.hints where fresh`)).toEqual([{ key: '7' }])
})

test('after a page of which no hint was there the next one is written without a look, and a hint that is there is found all the same', async () => {
  await insert(1_200)
  const queue = place.queue()
  const repeated = () => sweep(plain, { queue })
  expect(await repeated()).toMatchObject({ pushed: 1_200, ended: 'finished' })
  // All are there, which is not expected now; then it is.
  for (let round = 0; round < 2; round++)
    expect(await repeated()).toMatchObject({ seen: 1_200, pushed: 0, dropped: 0, ended: 'finished' })
  await place.rows(`delete from regrow.hints where key::int > 600`)
  expect(await repeated()).toMatchObject({ seen: 1_200, pushed: 600, dropped: 0, ended: 'finished' })
  expect(await hinted()).toHaveLength(1_200)
})

test('a query that fails goes to the keys, and fails the pass with its own words; nothing else is told', async () => {
  await insert(50)
  const broken = readJob('a', { key: 'int', pending: query('select id from things where 100 / (id - 7) <> 1') }).job
  await expect(sweep(broken)).rejects.toThrow('division by zero')
  expect(told).toEqual([])
  expect(await hinted()).toEqual([])
})

test('nothing in a key or in the text of a query is taken for a place of the statement', async () => {
  const words = [
    `it's`,
    `"quoted"`,
    'a:1',
    ':page',
    ':1',
    '$1',
    '$&',
    'back\\slash',
    '{}',
    'a,b',
    '',
    'null',
    'é ☂',
    '--',
  ]
  await place.rows(`insert into words select jsonb_array_elements_text($1::text::jsonb)`, [JSON.stringify(words)])
  const text = `select id from words where coalesce(note, ':1') not in (':2::text', ':page', ':look', ':conflict', '$&', '$3')
    and id <> $1::text and id::text <> $2 -- :1 :page`
  const job = readJob('a', { key: 'text', pending: query(text, [':conflict', '$2']) }).job
  expect(await sweep(job, { queue: withoutKeys() })).toMatchObject({ pushed: words.length, ended: 'finished' })
  const keys = (await place.rows(`select key from regrow.hints`)).map(({ key }) => key)
  expect(keys.sort()).toEqual([...words].sort())
  // The same keys by the quick way of a push.
  const hints = words.map((key) => ({ job: 'a', key, delayMs: 0, fresh: false }))
  expect(await place.queue().push(hints)).toEqual({ added: 0, merged: words.length, dropped: 0 })
  await place.rows('truncate regrow.hints')
  expect(await place.queue().push(hints)).toEqual({ added: words.length, merged: 0, dropped: 0 })
  const { hints: popped } = await place.queue().pop({ jobs: [{ job: 'a', limit: 99 }], limit: 99, waitMs: 0 })
  expect(popped.map(({ key }) => key).sort()).toEqual([...words].sort())
})
