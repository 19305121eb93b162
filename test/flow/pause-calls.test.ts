// app.pause, app.resume and app.pauses as they are called: what they answer, what they refuse, and who did it.

import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table things (id text primary key, state text not null default 'pending')`)

function declared() {
  const { app } = world.app()
  app.job('thing.make', { pending: sql`select id from things where state = 'pending'`, run() {} })
  const mail = app.job('mail.send', { input: z.object({ to: z.string() }) })
  return { app, mail }
}

const stored = () =>
  world.query(
    `select (select count(*)::int from regrow.pauses) as pauses, (select count(*)::int from regrow.audit) as acts`,
  )

test('a pause answers as it holds; a second one replaces reason, author and end, and keeps its beginning', async () => {
  const { app } = declared()
  const first = await app.pause('thing.make', { reason: '  the provider is down ', author: 'ann', for: '2h' })
  const since = new Date(world.clock.wall())
  expect(first).toEqual({
    job: 'thing.make',
    reason: 'the provider is down',
    author: 'ann',
    since,
    until: new Date(since.getTime() + 7_200_000),
    backlog: null,
  })
  await world.pass(60_000)
  const second = await app.pause('thing.make', { reason: 'still down', author: 'bob' })
  expect(second).toEqual({ ...first, reason: 'still down', author: 'bob', until: null })
  await app.pause('mail.send', { reason: 'also', author: 'ann' })
  expect(await operate(app).pauses()).toMatchObject([{ job: 'mail.send', reason: 'also' }, second])
  expect((await operate(app).status()).jobs.find(({ job }) => job === 'thing.make')?.pause).toEqual(second)
  expect(await app.resume('thing.make', { author: 'cem' })).toBe(true)
  expect(await app.resume('thing.make')).toBe(false)
  expect(await operate(app).pauses()).toMatchObject([{ job: 'mail.send' }])
  expect(
    await world.query(`select author, action, job, detail::jsonb ->> 'reason' as reason from regrow.audit order by id`),
  ).toEqual([
    { author: 'ann', action: 'pause', job: 'thing.make', reason: 'the provider is down' },
    { author: 'bob', action: 'pause', job: 'thing.make', reason: 'still down' },
    { author: 'ann', action: 'pause', job: 'mail.send', reason: 'also' },
    { author: 'cem', action: 'resume', job: 'thing.make', reason: 'still down' },
  ])
})

test('who acts is the host and process of the app, unless a name is given', async () => {
  const { app } = declared()
  const author = `${hostname()}:${process.pid}`
  expect(await app.pause('thing.make', { reason: 'x' })).toMatchObject({ author })
  await app.resume('thing.make')
  expect(await world.query('select author from regrow.audit')).toEqual([{ author }, { author }])
})

test.each([
  [undefined, 'bad_options', 'pause of "thing.make": the options are undefined'],
  ['the provider is down', 'bad_options', 'the options are "the provider is down"'],
  [{}, 'bad_options', '`reason` is missing'],
  [{ reason: ' \n' }, 'bad_options', '`reason` is " \\n"'],
  [{ reason: 7 }, 'bad_options', '`reason` is 7'],
  [{ reason: 'x', fro: '2h' }, 'bad_options', 'unknown option "fro"; did you mean "for"?'],
  [{ reason: 'x', author: '' }, 'bad_options', '`author` is ""'],
  [{ reason: 'x', for: 'soon' }, 'bad_duration', '`for` is "soon"'],
  [{ reason: 'x', for: 0 }, 'bad_duration', '`for` is 0'],
  [{ reason: 'x', for: '0s' }, 'bad_duration', '`for` is "0s"'],
  [{ reason: 'x', for: -5 }, 'bad_duration', '`for` is -5'],
  [{ reason: 'x', for: '3651d' }, 'bad_duration', '`for` is "3651d"'],
])('a pause with %j is refused, and nothing is paused', async (options, code, message) => {
  const { app } = declared()
  await expect(app.pause('thing.make', options as never)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message),
    hint: expect.stringMatching(/./),
  })
  expect(await stored()).toEqual([{ pauses: 0, acts: 0 }])
})

test('a resume refuses what it does not know', async () => {
  const { app } = declared()
  await app.pause('thing.make', { reason: 'x' })
  await expect(app.resume('thing.make', { auhtor: 'ann' } as never)).rejects.toMatchObject({
    code: 'bad_options',
    message: expect.stringContaining('did you mean "author"?'),
  })
  await expect(app.resume({ name: 'thing.make' } as never)).rejects.toMatchObject({ code: 'bad_options' })
  expect(await operate(app).pauses()).toHaveLength(1)
})

test('a job that neither the app nor the tables know is refused with a guess', async () => {
  const { app } = declared()
  const wrong = { code: 'unknown_job', hint: expect.stringContaining('Did you mean "thing.make"?') }
  await expect(app.pause('thing.mkae', { reason: 'x' })).rejects.toMatchObject(wrong)
  await expect(app.resume('thing.mkae')).rejects.toMatchObject(wrong)
  expect(await stored()).toEqual([{ pauses: 0, acts: 0 }])
})

test('an app that declares nothing pauses and resumes what the tables know, and nothing else', async () => {
  const { app: bare } = world.app()
  await expect(bare.pause('thing.make', { reason: 'x' })).rejects.toMatchObject({
    code: 'unknown_job',
    message: expect.stringContaining('There is no job "thing.make"'),
    hint: 'No job is known yet. A job that no worker has had yet is known to the app that declares it (--app).',
  })
  const { app, mail } = declared()
  await world.work(app, { only: 'thing.make' })
  await mail.enqueue({ to: 'ann' })
  expect(await bare.pause('thing.make', { reason: 'x' })).toMatchObject({ job: 'thing.make' })
  expect(await bare.pause('mail.send', { reason: 'it has only intents' })).toMatchObject({ job: 'mail.send' })
  await expect(bare.resume('thing.mkae')).rejects.toMatchObject({ hint: expect.stringContaining('"thing.make"?') })
  expect(await bare.resume('thing.make')).toBe(true)
  expect(await bare.resume('thing.make')).toBe(false)
})

test('what is declared can be paused before any worker has had it', async () => {
  const { app } = declared()
  expect(await app.pause('mail.send', { reason: 'not before the launch' })).toMatchObject({ job: 'mail.send' })
})

test('a queue that is away keeps nobody from pausing and resuming', async () => {
  const away = () => Promise.reject(new Error('the queue is away'))
  const { app } = world.app({ queue: { kind: 'queue', name: 'away', open: away } })
  app.job('thing.make', { pending: sql`select id from things`, run() {} })
  expect(await app.pause('thing.make', { reason: 'the queue is away' })).toMatchObject({ job: 'thing.make' })
  expect(await operate(app).pauses()).toHaveLength(1)
  expect(await app.resume('thing.make')).toBe(true)
})

test('secrets do not reach the table, and odd characters do no harm', async () => {
  const { app } = declared()
  const { reason } = await app.pause('thing.make', {
    reason: `it's "down"\0 \u{1F4A3}; postgres://u:hunter2@world.db/x`,
  })
  expect(reason).toBe(`it's "down" \u{1F4A3}; postgres://u:[redacted]@world.db/x`)
  expect(await operate(app).pauses()).toMatchObject([{ reason }])
})
