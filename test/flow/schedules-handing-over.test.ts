// Schedules that are made at run time, on a real store in virtual time: what becomes of their slots when the job's work fails,
// takes long, or is paused.

import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ScheduleOptions } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table things (id text primary key, state text not null default 'pending')`)

/** The slots of a schedule, oldest first: the time of day, state and reason. */
async function history(name: string) {
  const rows = await world.query<{ slot: Date; state: string; reason: string | null }>(
    `select slot, state, reason from regrow.slots where schedule = $1 order by slot`,
    [name],
  )
  return rows.map(({ slot, state, reason }) => [time(slot), state, reason].filter((cell) => cell !== null).join(' '))
}
const time = (at: Date) => at.toISOString().slice(11, 19)

test('a run that failed for good stays in quarantine, and the schedule goes on', async () => {
  const { app, ear } = world.app()
  let runs = 0
  const mail = app.job('mail', {
    input: z.object({}),
    retry: { attempts: 1 },
    run: () => {
      runs++
      if (runs === 3 || runs === 5) throw new Error('not this one')
    },
  })
  await world.work(app)
  await world.over(operate(app).schedules.add('mail.often', { job: mail, input: {}, every: '10s' }))
  await world.until(() => runs === 7)
  await world.pass(100)
  expect((await history('mail.often')).slice(0, 7).map((line) => line.slice(9))).toEqual(Array(7).fill('ran'))
  expect(ear.of('job.settled', { job: 'mail', state: 'quarantined' })).toHaveLength(2)
  const { keys } = await world.over(operate(app).quarantine.list({ job: 'mail' }))
  expect(keys).toHaveLength(2)
  expect(await world.query(`select id from regrow.intents`)).toHaveLength(2)
})

test('a schedule that this code cannot read is told, and those due at the same instant run', async () => {
  const { app, ear } = world.app()
  const sent: string[] = []
  const mail = app.job('mail', { input: z.object({ to: z.string() }), run: ({ to }) => void sent.push(to) })
  await world.work(app)
  for (const to of ['a', 'b', 'c'])
    await world.over(operate(app).schedules.add(`mail.${to}`, { job: mail, input: { to }, cron: '*/5 * * * * *' }))
  await world.query(`update regrow.schedules set cron = '* * * * * * future' where name = 'mail.b'`)
  await world.pass(12_000)
  expect(sent.sort()).toEqual(['a', 'a', 'c', 'c'])
  expect(ear.of('loop.failed', { schedule: 'mail.b' })).not.toEqual([])
  expect(ear.of('loop.failed').every(({ schedule }) => schedule === 'mail.b')).toBe(true)
  // Who can read it goes on with it.
  await world.query(`update regrow.schedules set cron = '*/5 * * * * *' where name = 'mail.b'`)
  await world.until(() => sent.includes('b'))
})

test('a name that code has is refused; a job whose name was given away is told', async () => {
  const queue = world.queue()
  const { app } = world.app({}, queue)
  const mail = app.job('mail', { input: z.object({}), run() {} })
  app.job('tick', { schedule: { every: '10s' }, run() {} })
  await expect(
    world.over(operate(app).schedules.add('tick', { job: mail, input: {}, every: '1m' })),
  ).rejects.toMatchObject({
    code: 'schedule_taken',
  })
  await world.over(operate(app).schedules.add('clash', { job: mail, input: {}, every: '1m' }))
  const other = world.app({}, queue)
  other.app.job('clash', { schedule: { every: '10s' }, run() {} })
  await world.work(other.app)
  await world.until(() => other.ear.of('loop.failed', { schedule: 'clash' }).length > 0)
  expect(other.ear.of('loop.failed', { schedule: 'clash' })[0]?.error).toMatchObject({ code: 'schedule_taken' })
})

test('a hand-over that is tried again is no finding while a worker lives', async () => {
  const { app } = world.app()
  const mail = app.job('mail', { input: z.object({}), run() {} })
  const worker = await world.work(app)
  await world.over(operate(app).schedules.add('mail.often', { job: mail, input: {}, every: '10s' }))
  await world.pass(12_000)
  await world.query(`insert into regrow.ledger (job, key, state, version, failures, crashes, retry_at, updated_at)
    values ('regrow.slots', 'mail.often@1@2026-01-01T00:00:20.000Z', 'retrying', null, 1, 0, regrow.clock() + interval '1 hour', regrow.clock())`)
  const codes = async () => (await world.over(operate(app).health())).findings.map(({ code, job }) => `${code} ${job}`)
  expect(await codes()).toEqual([])
  await world.over(worker.stop({ grace: 0 }))
  expect(await codes()).toContain('no_worker null')
})

describe('while the input of an earlier slot is not done', () => {
  /** Each run takes 2.5 s; the app's job `mail` is handed over to by `mail.often`. */
  const slow = async (options: ScheduleOptions) => {
    const { app, ear } = world.app()
    let running = 0
    const starts: number[] = []
    const most: number[] = []
    app.job('mail', {
      input: z.object({}),
      run: async () => {
        most.push(++running)
        starts.push(world.clock.now())
        await world.clock.sleep(2_500)
        running--
      },
    })
    await world.work(app)
    await world.over(operate(app).schedules.add('mail.often', { job: 'mail', input: {}, ...options }))
    return { app, ear, starts, most }
  }

  test("overlap: 'skip' skips the next ones, and each is told", async () => {
    const { ear, starts } = await slow({ every: '1s' })
    await world.until(() => starts.length === 2)
    const skipped = (await history('mail.often')).filter((line) => line.endsWith('skipped overlap'))
    expect(skipped.length).toBeGreaterThan(0)
    expect(ear.of('slot.skipped', { reason: 'overlap' }).map(({ at }) => at.slice(11, 19))).toEqual(
      skipped.map((line) => line.slice(0, 8)),
    )
  })

  test("overlap: 'queue' waits for it; what came due meanwhile is missed, and nothing piles up", async () => {
    const { starts, most } = await slow({ every: '1s', overlap: 'queue' })
    await world.until(() => starts.length === 8)
    expect(Math.max(...most)).toBe(1)
    const lines = await history('mail.often')
    expect(lines.filter((line) => line.endsWith('waiting')).length).toBeLessThanOrEqual(2)
    expect(lines.some((line) => line.endsWith('skipped missed'))).toBe(true)
    expect(await world.query(`select id from regrow.intents`)).toHaveLength(1)
    // The one that runs is of an instant that has just passed, not of the oldest that waited.
    const [last] = lines.filter((line) => line.endsWith('ran')).slice(-1)
    expect(Date.parse(`2026-01-01T${last?.slice(0, 8)}Z`) - Date.UTC(2026, 0, 1)).toBeGreaterThan(
      world.clock.now() - 4_000,
    )
  })
})

test('a slot that waits for a long run of what an earlier one handed over is not late', async () => {
  const { app } = world.app()
  let runs = 0
  app.job('mail', {
    input: z.object({}),
    run: async () => {
      runs++
      await world.clock.sleep(300_000)
    },
    timeout: '10m',
  })
  await world.work(app)
  await world.over(operate(app).schedules.add('mail.often', { job: 'mail', input: {}, every: '10s', overlap: 'queue' }))
  await world.until(() => runs === 1)
  await world.pass(180_000)
  expect((await history('mail.often')).at(-1)).toMatch(/waiting$/)
  expect((await world.over(operate(app).health())).findings).toEqual([])
})

test('what a schedule has missed is handed over one after the other', async () => {
  const queue = world.queue()
  let running = 0
  const seen: number[] = []
  const made = () => {
    const { app } = world.app({}, queue)
    app.job('mail', {
      input: z.object({}),
      run: async () => {
        seen.push(++running)
        await world.clock.sleep(1_500)
        running--
      },
    })
    return app
  }
  const first = made()
  const worker = await world.work(first)
  const all = { job: 'mail', input: {}, every: '1m', missed: { all: 3 } } as const
  await world.over(operate(first).schedules.add('mail.often', all))
  await world.over(worker.stop({ grace: 0 }))
  await world.pass(5 * 60_000 + 5_000)
  await world.work(made())
  await world.until(() => seen.length === 3)
  await world.pass(100)
  expect(seen).toEqual([1, 1, 1])
  expect((await history('mail.often')).slice(1, 4)).toEqual(['00:03:00 ran', '00:04:00 ran', '00:05:00 ran'])
})

test('while the job is paused slots wait, and after the resume `missed` says which of them run', async () => {
  const { app, ear } = world.app()
  let sent = 0
  app.job('mail', { input: z.object({}), run: () => void sent++ })
  await world.work(app)
  await world.over(operate(app).schedules.add('mail.often', { job: 'mail', input: {}, every: '10s' }))
  await world.until(() => sent === 1)
  await world.over(app.pause('mail', { reason: 'not now' }))
  await world.pass(45_000)
  expect(await history('mail.often')).toEqual(['00:00:10 ran', '00:00:20 waiting'])
  expect(await world.query(`select id from regrow.intents`)).toEqual([])
  expect((await world.over(operate(app).health())).healthy).toBe(true)
  await world.over(app.resume('mail'))
  await world.until(() => sent === 2, 15_000)
  expect(ear.of('slot.skipped', { reason: 'missed' })).toHaveLength(1)
})

test('a slot that the end of its schedule skips is told', async () => {
  const { app, ear } = world.app()
  app.job('mail', { input: z.object({}), run() {} })
  await world.work(app)
  await world.over(operate(app).schedules.add('mail.often', { job: 'mail', input: {}, every: '10s' }))
  await world.over(operate(app).schedules.end('mail.often'))
  expect(ear.of('slot.skipped')).toEqual([
    { schedule: 'mail.often', at: '2026-01-01T00:00:10.000Z', reason: 'ended', through: null, count: null },
  ])
})

describe('texts of users and names of regrow never meet', () => {
  /** The app's job `mail`, handed over to by `nightly`, beside an input that waits for an hour with these options. */
  const beside = async (options: { unique?: string; id?: string }) => {
    const { app, ear } = world.app()
    const sent: string[] = []
    const mail = app.job('mail', { input: z.object({ to: z.string() }), run: ({ to }) => void sent.push(to) })
    await world.work(app)
    await world.over(mail.enqueue({ to: 'ada' }, { in: '1h', ...options }))
    await world.over(operate(app).schedules.add('nightly', { job: mail, input: { to: 'all' }, every: '10s' }))
    await world.pass(25_000)
    return { app, ear, mail, sent }
  }

  test.each(['schedule nightly', '\\schedule nightly', '\\\\schedule nightly'])(
    'an input that is unique by the text %s holds no schedule back',
    async (unique) => {
      const { app, ear, mail, sent } = await beside({ unique })
      expect(sent).toEqual(['all', 'all'])
      expect(ear.of('slot.skipped')).toEqual([])
      // It is unique nevertheless, and other texts are other texts.
      expect(await world.over(mail.enqueue({ to: 'bob' }, { in: '1h', unique }))).toMatchObject({ status: 'merged' })
      expect(await world.over(mail.enqueue({ to: 'bob' }, { in: '1h', unique: `\\${unique}` }))).toMatchObject({
        status: 'added',
      })
      expect((await world.over(operate(app).health())).findings).toEqual([])
    },
  )

  test('the id of what a slot hands over cannot be known before, so no input can have taken it', async () => {
    const hex = createHash('sha256').update('nightly@1@2026-01-01T00:00:10.000Z').digest('hex')
    const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
    const { sent } = await beside({ id })
    expect(sent).toEqual(['all', 'all'])
  })

  test('a unique text is shown as its user wrote it', async () => {
    const { app, ear } = world.app()
    const mail = app.job('mail', {
      input: z.object({}),
      retry: { attempts: 1 },
      run: () => Promise.reject(new Error('no')),
    })
    await world.work(app)
    const unique = 'schedule nightly'
    const { key } = await world.over(mail.enqueue({}, { unique }))
    await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1)
    const found = await world.over(operate(app).quarantine.show('mail', key))
    expect(found?.intent?.uniqueKey).toBe(unique)
  })
})
