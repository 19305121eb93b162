// Quarantine with many keys in it: found by filter, counted by error, released without a flood.

import { RegrowError } from 'regrow'
import { operate } from 'regrow/operate'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, regrow, sql } from '../../src/index.ts'
import type { Progress } from '../../src/operate/index.ts'
import { QueuePlace } from '../services/queue-place.ts'

let place: QueuePlace
let app: App
beforeAll(async () => {
  place = await QueuePlace.open('quarantine_many', 'create table things (id text primary key)')
})
afterAll(() => place.close())
beforeEach(async () => {
  await place.beside.query(
    'truncate things, regrow.ledger, regrow.sweeps, regrow.hints, regrow.audit, regrow.intents, regrow.workers',
  )
  app = regrow({ store: postgres(place.database.url) })
  app.job('thing', { pending: sql`select id from things` })
  app.job('other', { pending: sql`select id from things` })
  app.job('mail', { input: z.object({ to: z.string() }) })
})
afterEach(() => app.close())

const query = async (text: string, params: unknown[] = []) => (await place.beside.query(text, params)).rows
const quarantine = (job: string, key: string, error: string, { ago = '0', version = null as string | null } = {}) =>
  query(
    `insert into regrow.ledger (job, key, state, failures, error, version, updated_at)
     values ($1, $2, 'quarantined', 20, $3, $4, clock_timestamp() - $5::interval)`,
    [job, key, error, version, ago],
  )
/** `count` rows and as many quarantined keys of them. */
async function many(count: number): Promise<void> {
  await query(`insert into things select 'k' || n from generate_series(1, $1::int) n`, [count])
  await query(
    `insert into regrow.ledger (job, key, state, error) select 'thing', 'k' || n, 'quarantined', 'timeout after ' || n || ' ms'
     from generate_series(1, $1::int) n`,
    [count],
  )
  await query(`insert into regrow.sweeps (job, next_at) values ('thing', now() + interval '1 hour')`)
}
const hints = async () => Number((await query('select count(*) as n from regrow.hints'))[0].n)

async function assorted(): Promise<void> {
  const { quarantine: open } = operate(app)
  await open.list()
  await quarantine('thing', 'a', 'Error: connect ECONNREFUSED 10.0.0.1:5432\n    at x', { ago: '3 hours' })
  await quarantine('thing', 'b', 'Error: connect ECONNREFUSED 10.0.0.2:5432', { ago: '1 hour', version: '7' })
  await quarantine('thing', 'c', 'no such user 0190c2f4-5f0e-7c6a-9d3b-2f1e8a7b6c5d', { ago: '10 minutes' })
  await quarantine('other', 'd', 'no such user 9b2d0c9e-0d6c-4f0b-8f43-5e2a3c1d7a10: ann@example.org')
  await quarantine('other', 'e', 'no such user 9B2D0C9E-0D6C-4F0B-8F43-5E2A3C1D7A11: bob@example.org')
}
const found = async (filter: object) => (await operate(app).quarantine.list(filter)).keys.map(({ key }) => key)

test('keys are found by a text in their error, by when they failed for good, and by version', async () => {
  await assorted()
  expect(await found({ error: 'econnrefused' })).toEqual(['a', 'b'])
  expect(await found({ error: '100%' })).toEqual([])
  expect(await found({ since: '2h' })).toEqual(['d', 'e', 'b', 'c'])
  expect(await found({ job: 'thing', since: '2h', before: '30m' })).toEqual(['b'])
  const [{ at }] = await query(`select clock_timestamp() - interval '2 hours' as at`)
  expect(await found({ before: at })).toEqual(['a'])
  expect(await found({ version: '7' })).toEqual(['b'])
  expect(await operate(app).quarantine.count({ since: '2h' })).toEqual([
    { job: 'other', count: 2 },
    { job: 'thing', count: 2 },
  ])
})

test('errors that differ only in numbers, ids and addresses are counted as one', async () => {
  await assorted()
  const groups = (await operate(app).quarantine.errors()).map(({ job, error, count, key }) => ({
    job,
    error,
    count,
    key,
  }))
  expect(groups).toEqual([
    { job: 'other', error: 'no such user <id>: <address>', count: 2, key: 'd' },
    { job: 'thing', error: 'Error: connect ECONNREFUSED <n>.<n>.<n>.<n>:<n>', count: 2, key: 'a' },
    { job: 'thing', error: 'no such user <id>', count: 1, key: 'c' },
  ])
  expect(await operate(app).quarantine.errors({ error: 'USER', job: 'thing' })).toMatchObject([{ count: 1, key: 'c' }])
})

test('a filter releases what it finds and nothing else, with a row in the audit for each', async () => {
  await assorted()
  await query(`insert into things values ('a'), ('b'), ('c')`)
  const report = await operate(app).quarantine.release('thing', { where: { error: 'ECONNREFUSED' } }, { author: 'ann' })
  expect(report).toEqual({ count: 2, released: ['a', 'b'], missing: [] })
  expect(await found({})).toEqual(['d', 'e', 'c'])
  expect(await query('select key from regrow.hints order by key')).toEqual([{ key: 'a' }, { key: 'b' }])
  expect(await query(`select author, action, detail::json ->> 'key' as key from regrow.audit order by key`)).toEqual([
    { author: 'ann', action: 'quarantine.release', key: 'a' },
    { author: 'ann', action: 'quarantine.release', key: 'b' },
  ])
})

test('a release of many is no flood (L9): the first thousand are hinted, a ramped pass brings the others', async () => {
  await operate(app).quarantine.list()
  await many(3_500)
  const progress: Progress[] = []
  const report = await operate(app).quarantine.release(
    'thing',
    { all: true },
    { onProgress: (each) => progress.push(each) },
  )
  expect(report).toMatchObject({ count: 3_500, missing: [] })
  expect(await hints()).toBe(1_000)
  expect(
    await query(
      `select next_at <= clock_timestamp() as due, ramped_at > now() - interval '1 minute' as ramped from regrow.sweeps`,
    ),
  ).toEqual([{ due: true, ramped: true }])
  expect(progress.map(({ done, total }) => [done, total])).toEqual([
    [1_000, 3_500],
    [2_000, 3_500],
    [3_000, 3_500],
    [3_500, 3_500],
  ])
  await operate(app).sweep({ jobs: ['thing'] })
  expect(await hints()).toBe(3_500)
})

test('a signal ends a release at the next page: what is released is found by the sweep, the same call does the rest', async () => {
  await operate(app).quarantine.list()
  await many(2_500)
  const stop = new AbortController()
  const first = await operate(app).quarantine.release(
    'thing',
    { all: true },
    { signal: stop.signal, onProgress: () => stop.abort() },
  )
  expect(first.count).toBe(1_000)
  expect(await query(`select next_at <= clock_timestamp() as due from regrow.sweeps`)).toEqual([{ due: true }])
  expect((await operate(app).quarantine.release('thing', { all: true })).count).toBe(1_500)
})

test('a filter drops intents of one error', async () => {
  for (const to of ['a', 'b', 'c'])
    await operate(app)
      .jobs()
      .find(({ name }) => name === 'mail')
      ?.enqueue({ to })
  await query(
    `insert into regrow.ledger (job, key, state, error) select job, id::text, 'quarantined', 'no such address ' || (input ->> 'to') from regrow.intents`,
  )
  expect((await operate(app).quarantine.drop('mail', { where: { error: 'address b' } })).count).toBe(1)
  expect(await query(`select input ->> 'to' as to from regrow.intents order by 1`)).toEqual([{ to: 'a' }, { to: 'c' }])
})

test.each([
  [{ eror: 'x' }, 'eror'],
  [{ error: '' }, '`error` is ""'],
  [{ since: 'yesterday' as never }, '`since` is "yesterday"'],
  [{ before: new Date('x') }, '`before` is no date'],
])('the filter %j is refused, and nothing is released', async (filter, message) => {
  await quarantine('thing', 'a', 'x')
  const error = await operate(app)
    .quarantine.release('thing', { where: filter as never })
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(RegrowError)
  expect(String(error)).toContain(message)
  expect(await found({})).toEqual(['a'])
})
