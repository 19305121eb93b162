// What is wrong with a schedule is said at once, in words, and nothing of it is stored. On a real Postgres.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, regrow, sql } from '../../src/index.ts'
import { type NewSchedule, operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let app: App<unknown>

beforeAll(async () => {
  database = await freshDatabase('schedule_refusals')
  app = regrow({ store: postgres(database.url) }) as App<unknown>
  app.job('mail.send', { input: z.object({ to: z.string() }), run() {} })
  app.job('row.make', { key: 'int', pending: sql`select 1 as id where false`, run() {} })
  app.job('tick', { schedule: { every: '1h' }, run() {} })
  await operate(app).migrate()
})
afterAll(async () => {
  await app.close()
  await database.drop()
})

const stored = async () =>
  (await operate(app).schedules.list()).schedules.map(({ name, cron, version }) => ({ name, cron, version }))
const mail = { job: 'mail.send', input: { to: 'ada' } }

describe('a schedule that is refused', () => {
  test.each<[string, object, string, RegExp]>([
    ['a field out of its range', { ...mail, cron: '61 * * * *' }, 'bad_schedule', /minute field says "61".*0 to 59/],
    [
      'a range without end',
      { ...mail, cron: '1-100000000 * * * *' },
      'bad_schedule',
      /minute field says "1-100000000"/,
    ],
    ['a step without end', { ...mail, cron: '*/100000000 * * * *' }, 'bad_schedule', /1 to 60/],
    ['a day that does not exist', { ...mail, cron: '0 0 30 2 *' }, 'bad_schedule', /never fires/],
    ['a text of 300 characters', { ...mail, cron: `${'1,'.repeat(146)}1 * * * *` }, 'bad_schedule', /characters long/],
    [
      'a zone nobody knows',
      { ...mail, cron: '@daily', tz: 'Europe/Berln' },
      'bad_schedule',
      /Did you mean 'Europe\/Berlin'\?/,
    ],
    ['an interval under a second', { ...mail, every: '10ms' }, 'bad_schedule', /every is 10 ms/],
    ['cron and every', { ...mail, cron: '@daily', every: '1h' }, 'bad_schedule', /exactly one of them/],
    ['neither of them', mail, 'bad_schedule', /neither `cron` nor `every`/],
    [
      'bounds in the wrong order',
      { ...mail, every: '1h', startAt: new Date(2), endAt: new Date(1) },
      'bad_schedule',
      /is before startAt/,
    ],
    ['an option that nobody knows', { ...mail, every: '1h', jiter: '1m' }, 'bad_schedule', /did you mean "jitter"\?/],
    [
      'a job that nobody knows',
      { ...mail, job: 'mail.sned', every: '1h' },
      'unknown_job',
      /Did you mean "mail\.send"\?/,
    ],
    ['no input', { job: 'mail.send', every: '1h' }, 'bad_schedule', /`input` is missing/],
    ['an input that does not fit', { job: 'mail.send', input: { to: 5 }, every: '1h' }, 'bad_input', /to/],
    ['no key', { job: 'row.make', every: '1h' }, 'bad_schedule', /`key` is missing/],
    ['a key that does not fit', { job: 'row.make', key: 'x', every: '1h' }, 'bad_key', /x/],
    [
      'an input for a job with a schedule',
      { job: 'tick', input: {}, every: '1h' },
      'bad_schedule',
      /`input` belongs to jobs with `input`/,
    ],
  ])('for %s says so within a second, and nothing is stored', async (_, options, code, said) => {
    const started = performance.now()
    const error = await operate(app)
      .schedules.add('s', options as NewSchedule)
      .then(
        () => undefined,
        (thrown: Error) => thrown,
      )
    expect(error).toMatchObject({ name: 'RegrowError', code })
    expect(error?.message).toMatch(said)
    expect(performance.now() - started).toBeLessThan(1_000)
    expect(await stored()).toEqual([])
  })

  test.each(['', '1st', 'a b', 'a@b', 'x'.repeat(129)])('for its name %j', async (name) => {
    await expect(operate(app).schedules.add(name, { ...mail, every: '1h' })).rejects.toMatchObject({
      code: 'bad_schedule',
    })
    expect(await stored()).toEqual([])
  })
})

describe('one that is there', () => {
  beforeEach(async () => {
    await operate(app).schedules.add('digest.ada', { ...mail, cron: '0 8 * * *' })
  })

  test('stays as it is when an edit is refused', async () => {
    const before = await stored()
    await expect(operate(app).schedules.add('digest.ada', { ...mail, cron: '0 25 * * *' })).rejects.toMatchObject({
      code: 'bad_schedule',
    })
    expect(await stored()).toEqual(before)
  })

  test('is not paused without a reason, and keeps one whatever is in it', async () => {
    await expect(operate(app).schedules.pause('digest.ada', { reason: ' ' })).rejects.toMatchObject({
      code: 'bad_options',
    })
    await operate(app).schedules.pause('digest.ada', { reason: 'a\u0000b \ud800', author: 'ann\u0000' })
    const { paused } = (await operate(app).schedules.show('digest.ada')) ?? {}
    expect(paused?.reason).toMatch(/^a.?b/)
    await operate(app).schedules.resume('digest.ada', { author: 'a\u0000' })
  })

  test.each<[string, () => Promise<unknown>, RegExp]>([
    ['a pause without options', () => operate(app).schedules.pause('digest.ada', undefined as never), /needs a reason/],
    [
      'a pause by a number',
      () => operate(app).schedules.pause('digest.ada', { reason: 'r', author: 5 as never }),
      /`author` is 5/,
    ],
    ['a page after a number', () => operate(app).schedules.list({ after: 5 as never }), /`after` is 5/],
    ['a page of a job that is none', () => operate(app).schedules.list({ job: {} as never }), /`job` is an object/],
    ['a page of no size', () => operate(app).schedules.list({ limit: 'x' as never }), /`limit` is "x"/],
    ['a name that is none', () => operate(app).schedules.show(undefined as never), /`name` is undefined/],
    [
      'a schedule without options',
      () => operate(app).schedules.add('s', undefined as never),
      /its options are undefined/,
    ],
  ])('%s is refused in words', async (_, act, said) => {
    const error = await act().catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ name: 'RegrowError', message: expect.stringMatching(said) })
  })

  test('has instants for a count from 1 to 1,000', async () => {
    for (const count of [0, -1, 1.5, 1_001, Number.NaN])
      await expect(operate(app).schedules.next('digest.ada', count)).rejects.toMatchObject({ code: 'bad_options' })
    expect(await operate(app).schedules.next('digest.ada', 1_000)).toHaveLength(1_000)
  })

  test('is found by its name alone', async () => {
    for (const act of ['resume', 'end', 'run', 'next'] as const)
      await expect(operate(app).schedules[act]('digest.adda')).rejects.toMatchObject({
        code: 'unknown_schedule',
        message: expect.stringContaining('did you mean "digest.ada"?'),
      })
    expect(await operate(app).schedules.show('digest.adda')).toBeNull()
    expect(await operate(app).schedules.show('a\u0000')).toBeNull()
  })
})
