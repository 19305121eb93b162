// What a handler answers may be anything: a delay out of a hostile header, an error that the store cannot hold. It costs its own key
// an attempt at most, and no neighbour anything.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Context } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`
    create table things (id text primary key, state text not null default 'pending');
    alter table regrow.ledger add constraint of_a_person check (error not like '%refused by the store%')`)

const neighbours = Array.from({ length: 20 }, (_, i) => `n${String(i).padStart(2, '0')}`)

/** One key with that handler among neighbours whose outcomes travel in the same settle. */
async function among(answer: (ctx: Context, id: string) => unknown) {
  const { app, ear } = world.app()
  const job = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    retry: { attempts: 3, delay: '1s' },
    sweep: { every: '5s' },
    async run(id, ctx) {
      if (id === 'hostile') return answer(ctx, id)
      await world.query(`update things set state = 'done' where id = $1`, [id])
    },
  })
  await world.query(`insert into things select jsonb_array_elements_text($1)`, [
    JSON.stringify([...neighbours, 'hostile']),
  ])
  await world.work(app, { concurrency: 50 })
  await job.enqueueMany([...neighbours, 'hostile'])
  await world.pass(20_000)
  const starts = (key: string) => ear.of('job.started', { key }).length
  const [row] = await world.query<{ state: string; failures: number; error: string | null; years: number }>(
    `select state, failures, error, round(extract(epoch from retry_at - regrow.clock()) / 86400 / 365)::int as years
     from regrow.ledger where key = 'hostile'`,
  )
  expect(neighbours.map(starts)).toEqual(neighbours.map(() => 1))
  expect(ear.of('job.settled', { state: 'done' })).toHaveLength(neighbours.length)
  return { ear, row, starts: starts('hostile') }
}

describe('ctx.snooze', () => {
  test.each([
    ['1e300 ms', 1e300],
    ['the largest number', Number.MAX_VALUE],
    ['a text of days', '999999999999d' as const],
  ])('in %s waits for a hundred years', async (_, delay) => {
    const { row, starts } = await among((ctx) => ctx.snooze(delay))
    expect(row).toMatchObject({ state: 'retrying', failures: 0, error: null, years: 100 })
    expect(starts).toBe(1)
  })

  test.each([
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['a negative number', -1],
    ['a date of HTTP', 'Wed, 21 Oct 2026 07:28:00 GMT' as never],
    ['null', null as never],
    ['a bigint', 5n as never],
    ['an object', { in: '5m' } as never],
  ])('in %s is refused, and a failure of the run that asked for it', async (_, delay) => {
    const { row, starts } = await among((ctx) => ctx.snooze(delay))
    expect(row).toMatchObject({
      state: 'quarantined',
      failures: 3,
      error: expect.stringContaining('The delay of ctx.snooze() is'),
    })
    expect(starts).toBe(3)
  })
})

test('ctx.snooze for the smallest of all numbers runs again at once', async () => {
  let asked = 0
  const { row, starts } = await among((ctx) =>
    asked++ === 0 ? ctx.snooze(Number.MIN_VALUE) : ctx.quarantine('it ran again'),
  )
  expect(row).toMatchObject({ failures: 0, error: 'it ran again' })
  expect(starts).toBe(2)
})

describe('an outcome that the store refuses', () => {
  test('is the failure of its key, which stops at its attempts', async () => {
    const { row, starts, ear } = await among(() => {
      throw new Error('refused by the store')
    })
    expect(row).toMatchObject({ state: 'quarantined', failures: 3, error: expect.stringContaining('of_a_person') })
    expect(starts).toBe(3)
    expect(ear.of('job.settled', { key: 'hostile' }).map(({ state }) => state)).toEqual([
      'retrying',
      'retrying',
      'quarantined',
    ])
    expect(ear.of('loop.failed')).toEqual([])
  })

  test('is a failure also where the run asked for quarantine', async () => {
    const { row, starts } = await among((ctx) => ctx.quarantine('refused by the store'))
    expect(row).toMatchObject({ state: 'quarantined', failures: 3 })
    expect(starts).toBe(3)
  })
})

test.each([
  ['a NUL character', 'a\0b', 'ab'],
  ['half of a surrogate pair', 'a\ud800b', 'a\ufffdb'],
])('an error text with %s is stored', async (_, text, stored) => {
  const { row, starts } = await among((ctx) => {
    if (ctx.attempt < 3) throw text
    throw Object.assign(new Error(text), { cause: new Error(text) })
  })
  expect(row).toMatchObject({ state: 'quarantined', failures: 3, error: expect.stringContaining(stored) })
  expect(starts).toBe(3)
})

test('a version of a source of the own that Postgres cannot hold is stored as far as it can', async () => {
  const { app, ear } = world.app()
  const rows = ['a', 'b'].map((key) => ({ key, version: key === 'a' ? 'v\0\ud800' : 'v', runAt: new Date(Number.NaN) }))
  const job = app.job('thing.own', {
    pending: {
      page: async (after: string | null) => (after === null ? rows : []),
      isPending: async (keys: readonly string[]) => rows.filter(({ key }) => keys.includes(key)),
    },
    retry: { attempts: 2, delay: '1s' },
    run: () => {
      throw new Error('no')
    },
  })
  await world.work(app)
  await job.enqueueMany(['a', 'b'])
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 2)
  expect(ear.of('job.started')).toHaveLength(4)
  expect(await world.query(`select key, version from regrow.ledger order by key`)).toEqual([
    { key: 'a', version: 'v\ufffd' },
    { key: 'b', version: 'v' },
  ])
})

test('what is enqueued far away is stored, and told; a date that is none is refused', async () => {
  const { app } = world.app()
  const mail = app.job('mail.send', { input: z.object({}), run: () => {} })
  const years = async (options: Parameters<typeof mail.enqueue>[1]) => {
    const { key } = await mail.enqueue({}, options)
    const [row] = await world.query<{ years: number | null }>(
      `select round(extract(epoch from run_at - regrow.clock()) / 86400 / 365)::int as years from regrow.intents where id = $1`,
      [key],
    )
    return row?.years
  }
  expect(await years({ in: 1e300 })).toBe(100)
  expect(await years({ in: '999999999999d' })).toBe(100)
  expect(await years({ jitter: 1e300 })).toBe(null)
  expect(await years({ at: new Date(8.64e15) })).toBeGreaterThan(7_900)
  expect(await years({ at: new Date(-8.64e15) })).toBeLessThan(-2_000)
  await expect(mail.enqueue({}, { in: Number.NaN })).rejects.toThrow('`in` is')
  await expect(mail.enqueue({}, { jitter: Number.POSITIVE_INFINITY })).rejects.toThrow('`jitter` is')
  await expect(mail.enqueue({}, { at: new Date(Number.NaN) })).rejects.toThrow('`at` is')
})
