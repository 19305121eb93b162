// Schedules that are made at run time: what ends and removes them, in which transaction they are made, and what is told of the work that
// their slots handed over. On PGlite in virtual time; a transaction of the user's own on Postgres.

import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { pledge } from '../../src/base/deferred.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openWorld } from '../flow/world.ts'
import { freshDatabase } from '../services/database.ts'

const world = openWorld(`create table things (id text primary key, state text not null default 'pending')`)

const mailOf = (app: App, run: () => unknown = () => {}) =>
  app.job('mail', { input: z.object({ to: z.string() }), retry: { attempts: 2, delay: '10s' }, run })
const ada = { to: 'ada' }

describe('one that has ended', () => {
  test('stays ended when it is added again, the same or another, and the answer says so', async () => {
    const { app } = world.app()
    let runs = 0
    const mail = mailOf(app, () => runs++)
    await world.work(app)
    const options = { job: mail, input: ada, every: '10s' } as const
    await world.over(operate(app).schedules.add('mail.often', options))
    await world.until(() => runs === 1)
    await world.over(operate(app).schedules.end('mail.often'))
    expect(await world.over(operate(app).schedules.add('mail.often', options))).toMatchObject({
      ended: { why: 'person' },
      version: 1,
      nextSlot: null,
    })
    expect(await world.over(operate(app).schedules.add('mail.often', { ...options, every: '20s' }))).toMatchObject({
      ended: { why: 'person' },
      everyMs: 10_000,
    })
    await world.pass(45_000)
    expect(runs).toBe(1)
  })

  test('goes on by `resume`, or is made anew after `remove`', async () => {
    const { app } = world.app()
    let runs = 0
    const mail = mailOf(app, () => runs++)
    await world.work(app)
    const options = { job: mail, input: ada, every: '10s' } as const
    await world.over(operate(app).schedules.add('mail.often', options))
    await world.over(operate(app).schedules.end('mail.often'))
    await world.over(operate(app).schedules.resume('mail.often'))
    await world.until(() => runs === 1)
    await world.over(operate(app).schedules.end('mail.often'))
    await world.over(operate(app).schedules.remove('mail.often', { author: 'ann' }))
    expect(await world.over(operate(app).schedules.show('mail.often'))).toBe(null)
    expect(await world.over(operate(app).schedules.add('mail.often', options))).toMatchObject({
      ended: null,
      version: 1,
    })
    await world.until(() => runs === 2)
  })
})

describe('remove', () => {
  test('deletes a schedule with its slots, notes who did it, and starts nothing any more', async () => {
    const { app } = world.app()
    let runs = 0
    const mail = mailOf(app, () => runs++)
    await world.work(app)
    await world.over(operate(app).schedules.add('mail.often', { job: mail, input: ada, every: '10s' }))
    await world.until(() => runs === 1)
    await world.over(operate(app).schedules.remove('mail.often', { author: 'ann' }))
    await world.pass(60_000)
    expect(runs).toBe(1)
    expect(await world.query(`select 1 from regrow.slots`)).toEqual([])
    expect(await world.query(`select 1 from regrow.ledger`)).toEqual([])
    expect(await world.query(`select author, action from regrow.audit`)).toEqual([
      { author: 'ann', action: 'schedule.remove' },
    ])
    await expect(world.over(operate(app).schedules.remove('mail.often'))).rejects.toMatchObject({
      code: 'unknown_schedule',
    })
  })

  test('is refused for one that code declares while a live worker has it', async () => {
    const { app } = world.app()
    app.job('tick', { schedule: { every: '10s' }, run() {} })
    const worker = await world.work(app)
    await expect(world.over(operate(app).schedules.remove('tick'))).rejects.toMatchObject({
      code: 'schedule_taken',
      message: expect.stringContaining('regrow schedules end tick'),
    })
    await world.over(worker.stop())
    const later = world.app()
    await world.over(operate(later.app).schedules.remove('tick'))
    expect(await world.over(operate(later.app).schedules.list())).toEqual({ schedules: [], next: null })
  })
})

describe('with a transaction', () => {
  test('of regrow’s own it commits with it, and its first slot is made after the commit', async () => {
    const { app } = world.app()
    const mail = mailOf(app)
    await world.work(app)
    const add = (tx: never) => operate(app).schedules.add('mail.often', { job: mail, input: ada, every: '1h', tx })
    const failing = world.over(
      app.transaction(async (tx) => {
        expect(await add(tx as never)).toMatchObject({ name: 'mail.often', nextSlot: null })
        throw new Error('rolled back')
      }),
    )
    await expect(failing).rejects.toThrow('rolled back')
    expect(await world.over(operate(app).schedules.show('mail.often'))).toBe(null)
    await world.over(app.transaction(async (tx) => void (await add(tx as never))))
    expect(await world.over(operate(app).schedules.show('mail.often'))).toMatchObject({
      nextSlot: expect.any(Date),
      version: 1,
    })
  })

  test('of the user’s own it is seen by nobody before the commit', async () => {
    const database = await freshDatabase('schedule_tx')
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const app = regrow({ store: postgres(database.url) })
    try {
      await operate(app).migrate()
      const mail = mailOf(app as never)
      const options = { job: mail, input: ada, cron: '0 8 * * *', tx: client }
      await client.query('begin')
      expect(await operate(app).schedules.add('mail.daily', options)).toMatchObject({ name: 'mail.daily', input: ada })
      expect(await operate(app).schedules.show('mail.daily')).toBe(null)
      await client.query('rollback')
      expect(await operate(app).schedules.show('mail.daily')).toBe(null)
      await client.query('begin')
      await operate(app).schedules.add('mail.daily', options)
      await client.query('commit')
      expect(await operate(app).schedules.show('mail.daily')).toMatchObject({ cron: '0 8 * * *' })
    } finally {
      await app.close()
      await client.end()
      await database.drop()
    }
  })
})

describe('what a slot handed over', () => {
  const handedOf = async (app: App, name: string) => {
    const found = await world.over(operate(app).schedules.show(name))
    const { schedules } = await world.over(operate(app).schedules.list())
    const listed = schedules.find((each) => each.name === name)
    expect(listed?.handed).toEqual(found?.handed)
    const slots = found?.slots.flatMap(({ handed }) => (handed ? [handed.state] : []))
    return { last: found?.handed?.state ?? null, job: found?.handed?.job, key: found?.handed?.key, slots }
  }

  test('an input: it runs, waits for its next try, is in quarantine, was dropped, or is done', async () => {
    const { app, ear } = world.app()
    let gate = pledge()
    const mail = mailOf(app, () => gate.promise)
    await world.work(app)
    const made = await world.over(operate(app).schedules.add('mail.once', { job: mail, input: ada, cron: '0 0 1 1 *' }))
    expect(made).toMatchObject({ key: null, input: ada, handed: null })
    await world.over(operate(app).schedules.run('mail.once'))
    await world.until(() => ear.of('job.started', { job: 'mail' }).length === 1)
    await world.pass(1_000)
    const [intent] = await world.query<{ id: string }>('select id from regrow.intents')
    expect(await handedOf(app, 'mail.once')).toEqual({
      last: 'running',
      job: 'mail',
      key: intent?.id,
      slots: ['running'],
    })
    gate.reject(new Error('not yet'))
    await world.until(() => ear.of('job.settled', { job: 'mail', state: 'retrying' }).length === 1)
    expect(await handedOf(app, 'mail.once')).toMatchObject({ last: 'retrying' })
    gate = pledge()
    gate.promise.catch(() => {})
    gate.reject(new Error('never'))
    await world.until(() => ear.of('job.settled', { job: 'mail', state: 'quarantined' }).length === 1)
    expect(await handedOf(app, 'mail.once')).toMatchObject({ last: 'quarantined' })
    await world.over(operate(app).quarantine.drop('mail', intent?.id as string))
    expect(await handedOf(app, 'mail.once')).toMatchObject({ last: 'dropped' })
    gate = pledge()
    gate.resolve()
    await world.over(operate(app).schedules.run('mail.once'))
    await world.until(() => ear.of('job.settled', { job: 'mail', state: 'done' }).length === 1)
    expect(await handedOf(app, 'mail.once')).toMatchObject({ last: 'done', slots: ['done', 'dropped'] })
  })

  test('an input that no worker serves is pending', async () => {
    const { app } = world.app()
    const mail = mailOf(app)
    app.job('other', { input: z.object({}), run() {} })
    await world.work(app, { except: ['mail'] })
    await world.over(operate(app).schedules.add('mail.once', { job: mail, input: ada, cron: '0 0 1 1 *' }))
    await world.over(operate(app).schedules.run('mail.once'))
    await world.pass(5_000)
    expect(await handedOf(app, 'mail.once')).toMatchObject({ last: 'pending', slots: ['pending'] })
  })

  test('a key: its job’s query says whether it is still pending', async () => {
    const { app, ear } = world.app()
    const gate = pledge()
    const thing = app.job('thing', {
      pending: sql`select id from things where state = 'pending'`,
      async run(id, ctx) {
        await gate.promise
        await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
      },
    })
    await world.query(`insert into things values ('a')`)
    app.job('other', { input: z.object({}), run() {} })
    await world.work(app, { except: ['thing'] })
    const made = await world.over(operate(app).schedules.add('thing.once', { job: thing, key: 'a', cron: '0 0 1 1 *' }))
    expect(made).toMatchObject({ key: 'a', input: null })
    await world.over(operate(app).schedules.run('thing.once'))
    await world.pass(5_000)
    expect(await handedOf(app, 'thing.once')).toEqual({ last: 'pending', job: 'thing', key: 'a', slots: ['pending'] })
    // A process that does not declare the job has no query to ask.
    expect((await world.over(operate(world.app().app).schedules.show('thing.once')))?.handed?.state).toBe('unknown')
    await world.work(app)
    await world.until(() => ear.of('job.started', { job: 'thing' }).length === 1)
    expect(await handedOf(app, 'thing.once')).toMatchObject({ last: 'running' })
    gate.resolve()
    await world.until(() => ear.of('job.settled', { job: 'thing', state: 'done' }).length === 1)
    expect(await handedOf(app, 'thing.once')).toMatchObject({ last: 'done' })
  })
})

test('a calendar interval fires by the clocks of its zone, and is shown as it was written', async () => {
  const { app } = world.app()
  const slots: string[] = []
  app.job('report', {
    schedule: { every: { months: 1 }, anchor: '2026-01-01T01:00:20', tz: 'Europe/Berlin' },
    run: (slot) => void slots.push(slot.at.toISOString()),
  })
  await world.work(app)
  await world.until(() => slots.length === 1)
  expect(slots).toEqual(['2026-01-01T00:00:20.000Z'])
  expect(await world.over(operate(app).schedules.show('report'))).toMatchObject({
    cron: null,
    everyMs: null,
    calendar: { every: { months: 1 }, anchor: '2026-01-01T01:00:20' },
    tz: 'Europe/Berlin',
    nextSlot: new Date('2026-02-01T00:00:20Z'),
  })
  const next = await world.over(operate(app).schedules.next('report', 4))
  expect(next.map((at) => at.toISOString()).at(-1)).toBe('2026-04-30T23:00:20.000Z')
})
