// Tables of regrow's that are emptied, or restored from before anything was declared, while workers go on; a clock of the database that is
// set back; and workers whose leases differ. Nothing is restarted: what is missing is declared again, and what is due stays due (L10).

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type App, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Sweeping } from './sweeping.ts'

let sweeping: Sweeping
beforeAll(async () => {
  sweeping = await Sweeping.open(
    'restored',
    `create table tasks (id bigint primary key, state text not null default 'pending');
     create table ticks (at timestamptz not null default clock_timestamp(), slot timestamptz not null);`,
  )
})
beforeEach(async () => {
  await sweeping.query(
    'truncate tasks, ticks, regrow.sweeps, regrow.ledger, regrow.hints, regrow.schedules, regrow.slots',
  )
})
afterEach(async () => {
  await sweeping.rest()
  await setClock('0')
})
afterAll(() => sweeping.close())

const setClock = (ahead: string) =>
  sweeping.query(
    `create or replace function regrow.clock() returns timestamptz language sql volatile as $$ select clock_timestamp() + interval '${ahead}' $$`,
  )

/** A job whose rows nobody enqueues, and a schedule of each second. */
function declare(app: App) {
  return [
    app
      .job('task.do', {
        key: 'bigint',
        pending: sql`select id from tasks where state = 'pending'`,
        sweep: { every: '1s' },
      })
      .handle((id, ctx) => ctx.tx((tx) => tx.query(`update tasks set state = 'done' where id = $1`, [id]))),
    app
      .job('tick', { schedule: { every: '1s' } })
      .handle((slot, ctx) => ctx.tx((tx) => tx.query(`insert into ticks (slot) values ($1)`, [slot.at.toISOString()]))),
  ]
}

async function working() {
  const { app, ear } = sweeping.app({ lease: '3s' })
  await sweeping.work(app, { handlers: declare(app) })
  await ear.until(() => ear.of('sweep.passed', { job: 'task.do', finished: true }).length > 0)
  await moreTicks(0)
  return { app, ear }
}

const done = () => sweeping.number(`select count(*)::int as n from tasks where state = 'done'`)
const ticks = () => sweeping.number('select count(*)::int as n from ticks')
const moreTicks = (than: number) => expect.poll(ticks, { timeout: 30_000 }).toBeGreaterThan(than)
const codes = async (app: App) => (await operate(app).health()).findings.map(({ code }) => code)

/** A worker that died with a key, as the tables tell of it. */
async function deadWorker(key: string): Promise<void> {
  await sweeping.query(
    `insert into regrow.workers (id, host, pid, jobs, started_at, beat_at) values ('dead', 'gone', 1, '{}', regrow.clock(), regrow.clock() - interval '1 minute')`,
  )
  await sweeping.query(
    `insert into regrow.ledger (job, key, holder, take, state) values ('task.do', $1, 'dead', 1, 'running')`,
    [key],
  )
}

test('after a restore from before everything was declared, sweeps, schedules and freeing go on by themselves', async () => {
  const { app, ear } = await working()
  // As pg_restore --clean: the tables are gone for a moment, and there again without a row.
  await sweeping.query('drop schema regrow cascade')
  const { app: operator } = sweeping.app()
  await operate(operator).migrate()
  const before = await ticks()
  await sweeping.query('insert into tasks (id) values (1), (2)')
  await deadWorker('2')
  await expect.poll(done, { timeout: 30_000 }).toBe(2)
  await moreTicks(before + 1)
  expect(
    ear
      .of('declarations.missing')
      .flatMap(({ sweeps }) => sweeps)
      .sort(),
  ).toEqual(['task.do', 'tick'])
  expect(ear.of('declarations.missing').flatMap(({ schedules }) => schedules)).toEqual(['tick'])
  await expect.poll(() => codes(app), { timeout: 20_000 }).toEqual([])
  const twice = await sweeping.number(
    `select count(*)::int as n from (select slot from ticks group by slot having count(*) > 1) t`,
  )
  expect(twice).toBe(0)
})

test('a schedule that a restore brings back as it was before its last edit is declared again as it is in the code', async () => {
  const { app: old } = sweeping.app()
  const slow = old.job('tick', { schedule: { every: '1h' } }).handle(() => {})
  const first = await sweeping.work(old, { handlers: [slow] })
  await expect.poll(() => sweeping.number('select version as n from regrow.schedules'), { timeout: 10_000 }).toBe(1)
  await first.stop()
  await sweeping.query('create table schedules_backup as table regrow.schedules')
  await working()
  const before = await ticks()
  await sweeping.query('truncate regrow.schedules, regrow.slots')
  await sweeping.query('insert into regrow.schedules select * from schedules_backup')
  await moreTicks(before)
  await sweeping.query('drop table schedules_backup')
  expect(await sweeping.query(`select every_ms::int as every, version from regrow.schedules`)).toEqual([
    { every: 1_000, version: 2 },
  ])
})

test('a schedule that a person ended is declared again when a restore from before that has lost its row', async () => {
  const { app: old } = sweeping.app({ lease: '3s' })
  const first = await sweeping.work(old, { handlers: declare(old) })
  await moreTicks(0)
  await operate(old).schedules.end('tick')
  await first.stop()
  await sweeping.query(`update regrow.pulse set audit_at = regrow.clock() - interval '1 second'`)
  const { app } = sweeping.app({ lease: '3s' })
  await sweeping.work(app, { handlers: declare(app) })
  // Its turn comes after its first declaration, which found the schedule ended.
  const turns = () => sweeping.number('select count(*)::int as n from regrow.pulse where audit_at > regrow.clock()')
  await expect.poll(turns, { timeout: 20_000 }).toBe(1)
  const before = await ticks()
  await sweeping.query('truncate regrow.schedules, regrow.slots')
  await moreTicks(before)
})

test('health names sweeps, schedules and the pulse that live workers declare and the store does not hold', async () => {
  // Declared as a worker of a version that declares nothing a second time.
  const { app } = sweeping.app()
  const [task, tick] = declare(app)
  expect([task, tick]).not.toContain(undefined)
  await sweeping.query('truncate regrow.workers, regrow.pulse')
  await sweeping.query(
    `insert into regrow.workers (id, host, pid, jobs, started_at, beat_at)
     values ('old', 'h', 1, '{"task.do": "x", "tick": "x"}', regrow.clock() - interval '1 hour', regrow.clock())`,
  )
  const { healthy, findings } = await operate(app).health()
  expect(healthy).toBe(false)
  expect(findings.map(({ code, job }) => [code, job])).toEqual([
    ['pulse_missing', null],
    ['sweep_missing', 'task.do'],
    ['sweep_missing', 'tick'],
    ['schedule_missing', 'tick'],
  ])
  await sweeping.query('truncate regrow.workers')
  await sweeping.query('insert into regrow.pulse default values')
})

test("after the database's clock was set back by an hour all goes on within seconds, nothing runs twice, and health says so", async () => {
  const { app } = await working()
  await sweeping.query('insert into tasks (id) values (1)')
  await expect.poll(done, { timeout: 20_000 }).toBe(1)
  await deadWorker('3')
  await sweeping.query(`update regrow.workers set beat_at = regrow.clock() where id = 'dead'`)
  // A hint that is in the queue, of a row that is written later.
  await app.pause('task.do', { reason: 'for a moment' })
  await sweeping.query(
    `insert into regrow.hints (job, key, due_at, fresh) values ('task.do', '4', regrow.clock() + interval '2 seconds', false)`,
  )
  await setClock('-1 hour')
  await app.resume('task.do')
  const before = await ticks()
  await sweeping.query('insert into tasks (id) values (2), (3), (4)')
  await expect.poll(done, { timeout: 30_000 }).toBe(4)
  await moreTicks(before + 1)
  const [finding] = (await operate(app).health()).findings.filter(({ code }) => code === 'clock_back')
  expect(finding?.message).toMatch(/set back by (1h|59m)/)
  expect((await operate(app).doctor()).findings.map(({ code }) => code)).toContain('clock_back')
  const twice = await sweeping.number(
    `select count(*)::int as n from (select slot from ticks group by slot having count(*) > 1) t`,
  )
  expect(twice).toBe(0)
})

test('a clock that jumped ahead for a moment and came back leaves no schedule behind in the future', async () => {
  await working()
  await setClock('1 hour')
  await moreTicks(await ticks())
  await expect
    .poll(
      () =>
        sweeping.number(
          `select count(*)::int as n from regrow.schedules where last_slot > now() + interval '50 minutes'`,
        ),
      {
        timeout: 20_000,
      },
    )
    .toBe(1)
  await setClock('0')
  await moreTicks((await ticks()) + 1)
  const [row] = await sweeping.query<{ ahead: boolean }>(
    `select last_slot > now() + interval '1 minute' as ahead from regrow.schedules`,
  )
  expect(row).toEqual({ ahead: false })
})

test('workers whose leases differ keep their claims, and doctor names the difference', async () => {
  await sweeping.query('insert into tasks (id) select generate_series(1, 3)')
  const { app: patient, ear } = sweeping.app({ lease: '15s' })
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = patient
    .job('task.do', {
      key: 'bigint',
      pending: sql`select id from tasks where state = 'pending'`,
      sweep: { every: '1s' },
    })
    .handle(async (id, ctx) => {
      await held
      await ctx.tx((tx) => tx.query(`update tasks set state = 'done' where id = $1`, [id]))
    })
  await sweeping.work(patient, { handlers: [slow] })
  await ear.until(() => ear.of('job.started').length === 3)
  const { app: hasty, ear: other } = sweeping.app({ lease: '2s' })
  await sweeping.work(hasty, {
    handlers: [
      hasty
        .job('other', {
          key: 'bigint',
          pending: sql`select id from tasks where state = 'none'`,
          sweep: { every: '1s' },
        })
        .handle(() => {}),
    ],
  })
  const beatAt = () =>
    sweeping.number(`select extract(epoch from beat_at) as n from regrow.workers where lease_ms = 15000`)
  // Two beats of the patient one, and between them more than the lease of the hasty one.
  for (const _ of ['first', 'second']) {
    const last = await beatAt()
    await expect.poll(beatAt, { timeout: 10_000 }).toBeGreaterThan(last)
  }
  expect([...ear.of('job.crashed'), ...other.of('job.crashed'), ...other.of('worker.freed')]).toEqual([])
  const { findings } = await operate(hasty).doctor()
  const [finding] = findings.filter(({ code }) => code === 'leases_differ')
  expect(finding?.message).toMatch(/lease of 2s, live workers have .*15s/)
  release()
  await expect.poll(done, { timeout: 20_000 }).toBe(3)
  expect(ear.of('job.lease_lost')).toEqual([])
})
