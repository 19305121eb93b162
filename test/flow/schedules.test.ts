// Schedules on a real store, in virtual time: every instant ran, or was skipped with a reason.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type ScheduleOptions, type Slot, sql, type WorkerHandle } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table things (id text primary key, state text not null default 'pending')`)

const seconds = (n: number) => n * 1_000
const days = (n: number) => n * 86_400_000

/** The slots of a schedule, oldest first: state, reason and the time of day of their instants. */
async function history(name = 'tick') {
  const rows = await world.query<{
    slot: Date
    state: string
    reason: string | null
    through: Date | null
    count: number | null
  }>(`select slot, state, reason, through, count from regrow.slots where schedule = $1 order by slot`, [name])
  return rows.map(({ slot, state, reason, through, count }) =>
    [time(slot), state, reason, through && time(through), count].filter((cell) => cell !== null).join(' '),
  )
}
const time = (at: Date) => at.toISOString().slice(5, 19).replace('T', ' ')

/** An app whose job `tick` recurs, and what ran. */
function ticking(schedule: ScheduleOptions, run: (slot: Slot) => unknown = () => {}, queue = world.queue()) {
  const ran: string[] = []
  const { app, ear } = world.app({}, queue)
  app.job('tick', {
    schedule,
    run: async (slot) => {
      ran.push(time(slot.at))
      await run(slot)
    },
  })
  return { app, ear, ran, queue }
}

/** The app stays open: its queue is the one that the next process uses. */
const stop = (worker: WorkerHandle) => world.over(worker.stop({ grace: 0 }))

test('each instant runs at its time, once, and is recorded', async () => {
  const starts: number[] = []
  const { app, ran } = ticking({ every: '10s' }, (slot) => {
    starts.push(world.clock.now() - (slot.at.getTime() - Date.UTC(2026, 0, 1)))
  })
  await world.work(app)
  await world.until(() => ran.length === 4)
  await world.pass(100)
  expect(ran).toEqual(['01-01 00:00:10', '01-01 00:00:20', '01-01 00:00:30', '01-01 00:00:40'])
  expect(await history()).toEqual([...ran.map((at) => `${at} ran`), '01-01 00:00:50 waiting'])
  expect(Math.max(...starts)).toBeLessThan(50)
})

test('the next slot is made and hinted before the handler of the present one starts', async () => {
  const seen: string[][] = []
  const { app, queue } = ticking({ every: '1m' }, async () => {
    seen.push(await history())
    expect((await queue.count(['tick'])).get('tick')?.delayed).toBe(1)
  })
  await world.work(app)
  await world.until(() => seen.length === 1)
  expect(seen[0]).toEqual(['01-01 00:01:00 waiting', '01-01 00:02:00 waiting'])
})

test('a cron text is read in its zone', async () => {
  const { app, ran } = ticking({ cron: '30 9 * * *', tz: 'Asia/Kolkata' })
  await world.work(app)
  expect(await history()).toEqual(['01-01 04:00:00 waiting'])
  expect(ran).toEqual([])
})

describe('after thirty days in which nobody worked', () => {
  const away = async (schedule: ScheduleOptions) => {
    const queue = world.queue()
    const first = ticking(schedule, undefined, queue)
    await stop(await world.work(first.app))
    await world.pass(days(30) + seconds(30))
    const second = ticking(schedule, undefined, queue)
    await world.work(second.app)
    await world.pass(seconds(5))
    return second
  }

  test("missed: 'once' runs the last of them, and the others are recorded", async () => {
    const { ran, ear } = await away({ cron: '0 3 * * *' })
    expect(ran).toEqual(['01-30 03:00:00'])
    expect(await history()).toEqual([
      '01-01 03:00:00 skipped missed 01-29 03:00:00 29',
      '01-30 03:00:00 ran',
      '01-31 03:00:00 waiting',
    ])
    expect(ear.of('slot.skipped')).toEqual([
      expect.objectContaining({ schedule: 'tick', reason: 'missed', count: 29, through: '2026-01-29T03:00:00.000Z' }),
    ])
  })

  test("missed: 'skip' runs none of them", async () => {
    const { ran } = await away({ cron: '0 3 * * *', missed: 'skip' })
    expect(ran).toEqual([])
    expect(await history()).toEqual(['01-01 03:00:00 skipped missed 01-30 03:00:00 30', '01-31 03:00:00 waiting'])
  })

  test('missed: { all: 3 } runs the last three, one after the other', async () => {
    const { ran } = await away({ cron: '0 3 * * *', missed: { all: 3 } })
    await world.until(() => ran.length === 3)
    await world.pass(100)
    expect(ran).toEqual(['01-28 03:00:00', '01-29 03:00:00', '01-30 03:00:00'])
    expect(await history()).toEqual([
      '01-01 03:00:00 skipped missed 01-27 03:00:00 27',
      '01-28 03:00:00 ran',
      '01-29 03:00:00 ran',
      '01-30 03:00:00 ran',
      '01-31 03:00:00 waiting',
    ])
  })

  test('a schedule of each second is no flood: one row stands for all that was missed', async () => {
    const { ran } = await away({ every: '1s' })
    const [first, ...rest] = await history()
    expect(first).toMatch(/^01-01 00:00:01 skipped missed 01-31 00:00:\d\d$/)
    expect(ran.length).toBeGreaterThan(3)
    expect(rest.filter((line) => line.endsWith('ran'))).toHaveLength(ran.length)
  })
})

test("under missed: 'skip' a slot that is less than a minute late still runs", async () => {
  const queue = world.queue()
  const first = ticking({ every: '1h', missed: 'skip' }, undefined, queue)
  await stop(await world.work(first.app))
  await world.pass(3_600_000 + seconds(30))
  const second = ticking({ every: '1h', missed: 'skip' }, undefined, queue)
  await world.work(second.app)
  await world.until(() => second.ran.length === 1)
})

test('with a jitter that is longer than the interval every slot runs, each within its own', async () => {
  const late: number[] = []
  const { app, ran } = ticking({ every: '1s', jitter: '5s', missed: 'skip' }, ({ at }) => {
    late.push(Date.UTC(2026, 0, 1) + world.clock.now() - at.getTime())
  })
  await world.work(app)
  await world.until(() => ran.length === 12)
  await world.pass(100)
  expect((await history()).slice(0, 12)).toEqual(ran.slice(0, 12).map((at) => `${at} ran`))
  expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...late)).toBeLessThan(5_500)
})

describe('while an earlier slot runs', () => {
  const slow = (overlap: 'skip' | 'queue' | 'allow') => {
    let running = 0
    let most = 0
    const made = ticking({ every: '10s', overlap }, async () => {
      running++
      most = Math.max(most, running)
      await world.clock.sleep(seconds(25))
      running--
    })
    return { ...made, most: () => most }
  }

  test("overlap: 'skip' skips the next ones, each recorded", async () => {
    const { app, ran, most } = slow('skip')
    await world.work(app)
    await world.until(() => ran.length === 2)
    expect(ran).toEqual(['01-01 00:00:10', '01-01 00:00:40'])
    expect((await history()).slice(0, 4)).toEqual([
      '01-01 00:00:10 ran',
      '01-01 00:00:20 skipped overlap',
      '01-01 00:00:30 skipped overlap',
      '01-01 00:00:40 waiting',
    ])
    expect(most()).toBe(1)
  })

  test("overlap: 'queue' waits for it; what came due meanwhile is missed, and the last of it runs", async () => {
    const { app, ran, most } = slow('queue')
    await world.work(app)
    await world.until(() => ran.length === 2)
    expect(ran).toEqual(['01-01 00:00:10', '01-01 00:00:30'])
    expect(most()).toBe(1)
  })

  test("overlap: 'allow' runs them side by side", async () => {
    const { app, ran, most } = slow('allow')
    await world.work(app)
    await world.until(() => ran.length === 3)
    expect(ran).toEqual(['01-01 00:00:10', '01-01 00:00:20', '01-01 00:00:30'])
    expect(most()).toBeGreaterThan(1)
  })
})

describe('an edit', () => {
  const edited = async (before: ScheduleOptions, after: ScheduleOptions, betweenMs = 1_000) => {
    const queue = world.queue()
    const first = ticking(before, undefined, queue)
    await stop(await world.work(first.app))
    await world.pass(betweenMs)
    const second = ticking(after, undefined, queue)
    await world.work(second.app)
    return second
  }

  test('keeps the slot that waits when its instant is still in the pattern, under a new key', async () => {
    const { ear, ran } = await edited({ every: '1m' }, { every: '1m', overlap: 'allow' })
    await world.until(() => ran.length === 1)
    await world.pass(100)
    expect(ran).toEqual(['01-01 00:01:00'])
    expect(await history()).toEqual(['01-01 00:01:00 ran', '01-01 00:02:00 waiting'])
    // The old hint is still in the queue, and starts nothing.
    expect(ear.of('job.started').map(({ key }) => key)).toEqual(['tick@2@2026-01-01T00:01:00.000Z'])
    expect(ear.of('hint.refused', { key: 'tick@1@2026-01-01T00:01:00.000Z' })).not.toEqual([])
  })

  test('replaces the slot that waits when it is not', async () => {
    const { ran } = await edited({ cron: '0 3 * * *' }, { cron: '0 2 * * *' })
    expect(await history()).toEqual(['01-01 02:00:00 waiting', '01-01 03:00:00 skipped replaced'])
    expect(ran).toEqual([])
  })

  test('that comes back brings the instant back that it had replaced', async () => {
    await edited({ cron: '0 3 * * *' }, { cron: '0 2 * * *' })
    const third = ticking({ cron: '0 3 * * *' })
    await world.work(third.app)
    await world.until(async () => (await history())[0] === '01-01 02:00:00 skipped replaced')
    expect(await history()).toEqual(['01-01 02:00:00 skipped replaced', '01-01 03:00:00 waiting'])
  })

  test('never runs an instant twice: one that ran stays so', async () => {
    const queue = world.queue()
    const first = ticking({ every: '1m' }, undefined, queue)
    const worker = await world.work(first.app)
    await world.until(() => first.ran.length === 1)
    await world.pass(100)
    await stop(worker)
    const second = ticking({ every: '30s' }, undefined, queue)
    await world.work(second.app)
    await world.until(() => second.ran.length === 2)
    expect([...first.ran, ...second.ran]).toEqual(['01-01 00:01:00', '01-01 00:01:30', '01-01 00:02:00'])
  })

  test('leaves a slot that is running alone', async () => {
    const queue = world.queue()
    const first = ticking({ every: '1m' }, () => world.clock.sleep(seconds(20)), queue)
    const worker = await world.work(first.app)
    await world.until(() => first.ran.length === 1)
    const second = ticking({ cron: '*/2 * * * *' }, undefined, queue)
    await world.work(second.app)
    await world.pass(seconds(25))
    expect((await history())[0]).toBe('01-01 00:01:00 ran')
    await stop(worker)
  })
})

describe('a schedule that is paused', () => {
  test('starts nothing, also when its hint is in the queue; what passes meanwhile is recorded on resume', async () => {
    const { app, ran, ear } = ticking({ every: '10s' })
    await world.work(app)
    await world.until(() => ran.length === 1)
    await world.over(operate(app).schedules.pause('tick', { reason: 'too loud', author: 'ops' }))
    await world.pass(seconds(25))
    expect(ran).toHaveLength(1)
    expect((await world.over(operate(app).schedules.show('tick')))?.paused).toMatchObject({
      reason: 'too loud',
      author: 'ops',
    })
    await world.over(operate(app).schedules.resume('tick'))
    await world.until(() => ran.length === 2)
    await world.pass(100)
    expect(await history()).toEqual([
      '01-01 00:00:10 ran',
      '01-01 00:00:20 skipped paused 01-01 00:00:30 2',
      '01-01 00:00:40 ran',
      '01-01 00:00:50 waiting',
    ])
    expect(ear.of('slot.skipped', { reason: 'missed' })).toEqual([])
  })

  test('is resumed once: a resume of one that is not stopped leaves the slot that waits alone', async () => {
    const { app, ran } = ticking({ every: '1m', startAt: new Date(Date.UTC(2026, 0, 1, 0, 0, 1)), jitter: '1m' })
    await world.work(app)
    await world.pass(seconds(2))
    expect(await history()).toEqual(['01-01 00:00:01 waiting'])
    await world.over(operate(app).schedules.resume('tick'))
    expect(await history()).toEqual(['01-01 00:00:01 waiting'])
    await world.until(() => ran.length === 1)
    expect(ran).toEqual(['01-01 00:00:01'])
    expect(await world.query(`select action from regrow.audit`)).toEqual([])
  })

  test('whose job is paused instead catches up as `missed` says', async () => {
    const { app, ran } = ticking({ every: '10s' })
    await world.work(app)
    await world.over(app.pause('tick', { reason: 'not now' }))
    await world.pass(seconds(35))
    expect(ran).toEqual([])
    await world.over(app.resume('tick'))
    await world.until(() => ran.length === 1)
    expect(ran[0]).toMatch(/00:00:[34]0$/)
  })
})

describe('a schedule that ended', () => {
  test('stays ended when code still declares it, until a person resumes it', async () => {
    const queue = world.queue()
    const first = ticking({ every: '10s' }, undefined, queue)
    const worker = await world.work(first.app)
    await world.over(operate(first.app).schedules.end('tick'))
    await stop(worker)
    const second = ticking({ every: '10s' }, undefined, queue)
    await world.work(second.app)
    await world.pass(seconds(30))
    expect(second.ran).toEqual([])
    expect(await history()).toEqual(['01-01 00:00:10 skipped ended'])
    expect((await world.over(operate(second.app).schedules.show('tick')))?.ended).toMatchObject({ why: 'person' })
    await world.over(operate(second.app).schedules.resume('tick'))
    await world.until(() => second.ran.length === 1)
    expect(second.ran[0]).toBe('01-01 00:00:40')
  })

  test('because nobody declared it for seven days comes back with its declaration', async () => {
    const queue = world.queue()
    const first = ticking({ every: '1h' }, undefined, queue)
    await stop(await world.work(first.app))
    const { app: other, ear } = world.app({}, queue)
    other.job('other', { pending: sql`select id from things where state = 'pending'`, run() {} })
    const worker = await world.work(other)
    // Absence ends nothing by itself: it makes no new slots.
    expect((await world.over(operate(other).schedules.show('tick')))?.live).toBe(false)
    await world.query(`update regrow.schedules set seen_at = seen_at - interval '7 days'`)
    await world.pass(60_000)
    // Who works since a moment ago does not know who else is starting.
    expect(ear.of('schedule.ended')).toEqual([])
    await world.query(`update regrow.workers set started_at = started_at - interval '1 hour'`)
    await world.until(() => ear.of('schedule.ended').length === 1)
    expect((await world.over(operate(other).schedules.show('tick')))?.ended).toMatchObject({ why: 'absent' })
    expect(await history()).toEqual(['01-01 01:00:00 skipped ended'])
    await stop(worker)
    const third = ticking({ every: '1h' }, undefined, queue)
    await world.work(third.app)
    expect((await world.over(operate(third.app).schedules.show('tick')))?.ended).toBeNull()
  })
})

describe('the audit', () => {
  test('makes a future slot that is missing, and says so', async () => {
    const { app, ran, ear } = ticking({ every: '1m' })
    await world.work(app)
    await world.query(`delete from regrow.slots`)
    await world.until(() => ear.of('schedules.audited', { created: 1 }).some(({ processed }) => processed === 1))
    await world.until(() => ran.length === 1)
    expect(ran).toEqual(['01-01 00:01:00'])
  })

  test('hints slots whose hint was lost, within its interval, also when every slot of the worker is busy', async () => {
    const { app, ear, queue, ran } = ticking({ every: '1m' })
    let free = () => {}
    app.job('hog', {
      pending: sql`select id from things where state = 'pending'`,
      run: () => new Promise<void>((resolve) => (free = resolve)),
    })
    await world.query(`insert into things values ('a')`)
    await world.work(app, { concurrency: 1 })
    await world.until(() => ear.of('job.started', { job: 'hog' }).length === 1)
    await world.pass(seconds(1))
    const mark = await queue.advanceMark({ epoch: -1, sequence: 0 })
    await queue.wipe()
    // The mark stays: a partial loss is nobody's alarm.
    if (mark) await queue.setMark(mark)
    await world.until(() => ear.of('schedules.audited', { orphans: 1 }).length === 1, 15_000)
    await world.query(`update things set state = 'done'`)
    free()
    await world.until(() => ran.length === 1)
  })

  test('is made by one process at a time, and stamps what it saw', async () => {
    const queue = world.queue()
    const one = ticking({ every: '1m' }, undefined, queue)
    const two = ticking({ every: '1m' }, undefined, queue)
    await world.work(one.app)
    await world.work(two.app)
    const count = () => one.ear.of('schedules.audited').length + two.ear.of('schedules.audited').length
    const before = count()
    await world.pass(seconds(60))
    // Ten seconds and a tenth of them either way.
    expect(count() - before).toBeGreaterThanOrEqual(4)
    expect(count() - before).toBeLessThanOrEqual(7)
    const info = await world.over(operate(one.app).schedules.show('tick'))
    expect(info?.lastAuditAt?.getTime()).toBeGreaterThan(Date.UTC(2026, 0, 1) + seconds(45))
  })

  test('forgets slots that ended thirty days ago, and no others', async () => {
    const { app, ran } = ticking({ every: '1m' })
    await world.work(app)
    await world.until(() => ran.length === 2)
    await world.query(
      `update regrow.slots set ended_at = ended_at - interval '30 days' where slot = '2026-01-01 00:01:00Z'`,
    )
    await world.until(async () => (await history())[0] === '01-01 00:02:00 ran')
  })
})

test('the queue was wiped: slots are hinted again at once', async () => {
  const { app, ran, queue } = ticking({ every: '10s' })
  await world.work(app)
  await world.pass(seconds(2))
  await queue.wipe()
  await world.until(() => ran.length === 2)
  expect(ran).toEqual(['01-01 00:00:10', '01-01 00:00:20'])
})

test('a slot that fails is tried again; the next ones go on beside it', async () => {
  let failures = 2
  const { app, ran } = ticking({ every: '10s' }, (slot) => {
    if (time(slot.at) === '01-01 00:00:10' && failures-- > 0) throw new Error('not now')
  })
  await world.work(app)
  await world.until(async () => (await history()).filter((line) => line.endsWith('ran')).length === 2)
  expect(ran.filter((at) => at === '01-01 00:00:10')).toHaveLength(3)
})

test('a slot that failed for good is dropped by a person, and recorded as that', async () => {
  const { app, ear } = world.app()
  app.job('tick', {
    schedule: { every: '1h' },
    retry: { attempts: 1 },
    run: () => {
      throw new Error('never')
    },
  })
  await world.work(app)
  await world.over(operate(app).schedules.run('tick'))
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1)
  const { dropped } = await world.over(operate(app).quarantine.drop('tick', { all: true }))
  expect(dropped).toHaveLength(1)
  expect((await history())[0]).toMatch(/skipped dropped$/)
  expect(ear.of('slot.skipped', { reason: 'dropped' })).toHaveLength(1)
})

test('a run beside the schedule is a slot of its own', async () => {
  const { app, ran } = ticking({ every: '1h' })
  await world.work(app)
  await world.pass(seconds(5))
  const { at } = await world.over(operate(app).schedules.run('tick'))
  await world.until(() => ran.length === 1)
  await world.pass(100)
  expect(ran).toEqual([time(at)])
  expect((await history()).map((line) => line.split(' ').slice(2).join(' '))).toEqual(['ran', 'waiting'])
})

test('a schedule that stands still is a finding, and so is one that nobody has', async () => {
  const queue = world.queue()
  const { app } = ticking({ every: '1m' }, undefined, queue)
  const worker = await world.work(app)
  const codes = async () =>
    (await world.over(operate(app).health())).findings.map(({ level, code }) => `${level} ${code}`)
  expect(await codes()).toEqual([])
  await world.query(`update regrow.slots set due_at = due_at - interval '5 minutes' where state = 'waiting'`)
  // Its hint is for later: until the audit looks, it only stands there.
  expect(await codes()).toContain('bad schedule_late')
  await world.over(operate(app).schedules.pause('tick', { reason: 'on purpose' }))
  expect(await codes()).toEqual([])
  await world.over(operate(app).schedules.resume('tick'))
  await stop(worker)
  // Without any worker that is what there is to say; with one that lacks the job, the schedule is.
  expect(await codes()).toEqual(['bad no_worker'])
  const other = world.app({}, queue)
  other.app.job('other', { pending: sql`select id from things where false`, run: () => {} })
  await world.work(other.app)
  expect(await codes()).toContain('warn schedule_absent')
})

describe('a schedule that is made at run time', () => {
  test('hands an input over at each of its instants, once', async () => {
    const { app } = world.app()
    const sent: string[] = []
    const mail = app.job('mail', { input: z.object({ to: z.string() }), run: ({ to }) => void sent.push(to) })
    await world.work(app)
    const made = await world.over(
      operate(app).schedules.add('mail.daily', { job: mail, every: '10s', input: { to: 'a@b.c' } }),
    )
    expect(made).toMatchObject({ name: 'mail.daily', job: 'mail', everyMs: 10_000, declared: false, version: 1 })
    await world.until(() => sent.length === 3)
    await world.pass(100)
    expect((await history('mail.daily')).slice(0, 3).every((line) => line.endsWith('ran'))).toBe(true)
    expect(await world.query(`select id from regrow.intents`)).toEqual([])
  })

  test('skips an instant while the input of an earlier one is not done', async () => {
    const { app } = world.app()
    let sent = 0
    app.job('mail', {
      input: z.object({}),
      run: async () => {
        sent++
        await world.clock.sleep(seconds(15))
      },
    })
    await world.work(app)
    await world.over(operate(app).schedules.add('mail.often', { job: 'mail', every: '10s', input: {} }))
    await world.until(() => sent === 2)
    expect((await history('mail.often')).slice(0, 2)).toEqual(['01-01 00:00:10 ran', '01-01 00:00:20 skipped overlap'])
  })

  test('hints a key at each of its instants; the row says whether there is something to do', async () => {
    const { app, ear } = world.app()
    app.job('thing', {
      pending: sql`select id from things where state = 'pending'`,
      sweep: { every: '1h' },
      run: (id) => world.query(`update things set state = 'done' where id = $1`, [id]),
    })
    await world.work(app)
    await world.over(operate(app).schedules.add('thing.often', { job: 'thing', every: '10s', key: 'a' }))
    await world.query(`insert into things values ('a')`)
    await world.until(() => ear.of('job.settled', { job: 'thing', state: 'done' }).length === 1, 15_000)
  })

  test('runs the handler of a job that recurs, under its own name', async () => {
    const slots: string[] = []
    const { app } = world.app()
    app.job('report', {
      schedule: { cron: '0 3 * * *' },
      run: ({ schedule, at }) => void slots.push(`${schedule} ${time(at)}`),
    })
    await world.work(app)
    await world.over(operate(app).schedules.add('report.extra', { job: 'report', every: '10s' }))
    await world.until(() => slots.length === 1)
    expect(slots).toEqual(['report.extra 01-01 00:00:10'])
  })

  test('is refused with a reason, and nothing is stored', async () => {
    const { app } = world.app()
    app.job('mail', { input: z.object({ to: z.string() }), run() {} })
    app.job('tick', { schedule: { every: '1m' }, run() {} })
    const wrong = async (options: object, name = 'x') =>
      world.over(operate(app).schedules.add(name, options as never)).then(
        () => 'taken',
        (error: Error) => error.message,
      )
    expect(await wrong({ job: 'male', every: '1m', input: {} })).toMatch(/Did you mean "mail"/)
    expect(await wrong({ job: 'mail', every: '1m' })).toMatch(/`input` is missing/)
    expect(await wrong({ job: 'mail', every: '1m', input: { to: 3 } })).toMatch(/to/)
    expect(await wrong({ job: 'mail', every: '1m', key: 'a', input: { to: '' } })).toMatch(/`key` belongs to/)
    expect(await wrong({ job: 'mail', cron: '0 0 30 2 *', input: { to: '' } })).toMatch(/never/)
    expect(await wrong({ job: 'mail', cron: '0 0 1-100000000 * *', input: { to: '' } })).toMatch(/100000000/)
    expect(await wrong({ job: 'mail', cron: `${'0,'.repeat(200)}0 0 * * *`, input: { to: '' } })).toMatch(/256/)
    expect(await wrong({ job: 'mail', cron: '0 3 * * *', tz: 'Europe/Berln', input: { to: '' } })).toMatch(
      /Europe\/Berlin/,
    )
    expect(await wrong({ job: 'mail', every: '1m', cron: '0 3 * * *', input: { to: '' } })).toMatch(/exactly one/)
    expect(await wrong({ job: 'mail', evry: '1m', input: { to: '' } })).toMatch(/did you mean "every"/)
    expect(await wrong({ job: 'mail', every: '1m', missed: 'twice', input: { to: '' } })).toMatch(/'once'/)
    expect(await wrong({ job: 'mail', every: '1m', input: { to: '' } }, 'a@b')).toMatch(/begins with a letter/)
    expect(await world.query(`select name from regrow.schedules`)).toEqual([])
    await world.work(app)
    expect(await wrong({ job: 'mail', every: '1m', input: { to: '' } }, 'tick')).toMatch(/declared in code/)
  })
})

test('mistakes in declared schedules are told with all others', async () => {
  const { app } = world.app()
  app.job('a', { schedule: { cron: '99 * * * *' }, run() {} })
  app.job('b', { schedule: { cron: '0 3 * * *', tz: 'Mars/Olympus' }, run() {} })
  app.job('c', { schedule: {} as never, run() {} })
  app.job('regrow.mine', { schedule: { every: '1m' }, run() {} })
  expect(() => app.work()).toThrow(/4 mistakes[\s\S]*99[\s\S]*Mars[\s\S]*neither[\s\S]*regrow\./)
})
