// Pending queries that fail, hang, are locked out, or answer nonsense, all at once in one process on a real Postgres: each
// stops its own job and is told; everybody else is swept on time, and the worker stays alive (F15, L2).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/index.ts'
import type { Ear } from '../flow/world.ts'
import { Sweeping } from './sweeping.ts'

const tables = `
  create table things (id text collate "C" primary key, state text not null default 'pending');
  create table odd (id text collate "C", state text not null default 'pending');
  create table renamed (id text collate "C" primary key, state text not null default 'pending');
  create table locked (id text collate "C" primary key, state text not null default 'pending');
  create table slow (id text collate "C" primary key, state text not null default 'pending');
  create table switch (hangs boolean not null);
  insert into switch values (true);
  create function answers() returns boolean language plpgsql volatile as $$
    begin
      while (select hangs from switch) loop perform pg_sleep(0.1); end loop;
      return true;
    end $$;
  insert into odd values (null), ('a'), ('a'), (null), ('b'), ('a'), (null);
  insert into renamed values ('r');
  insert into locked values ('l');
  insert into slow values ('s')`

const everyMs = 2_000
/** Besides the interval: its tenth of chance, standing back, a look, and four that began to hang just before. */
const leewayMs = 4_000
/** More than a process makes at a time (src/sweep/sweep-loop.ts), and than it had connections for. */
const hanging = Array.from({ length: 8 }, (_, n) => `hangs.${n}`)
const lockedOut = ['locked.0', 'locked.1', 'locked.2']

describe('among jobs whose queries fail, hang, are locked out, or return nulls and duplicates', () => {
  let sweeping: Sweeping
  let ear: Ear
  let since = 0
  let until = 0
  const starts: string[] = []

  beforeAll(async () => {
    sweeping = await Sweeping.open('sweep_stress', tables)
    const made = sweeping.app({ lease: '3s' })
    ear = made.ear
    const job = (name: string, pending: ReturnType<typeof sql>, table: string) =>
      made.app.job(name, {
        pending,
        sweep: { every: everyMs },
        async run(id) {
          starts.push(`${name} ${id}`)
          await sweeping.query(`update ${table} set state = 'done' where id = $1`, [id])
        },
      })
    job('good', sql`select id from things where state = 'pending'`, 'things')
    job('odd', sql`select id from odd where state = 'pending'`, 'odd')
    job('fails', sql`select id from renamed where state = 'pending'`, 'renamed')
    for (const name of lockedOut) job(name, sql`select id from locked where state = 'pending'`, 'locked')
    for (const name of hanging) job(name, sql`select id from slow where state = 'pending' and answers()`, 'slow')
    const locker = await sweeping.session()
    await locker.query('begin')
    await locker.query('lock table locked in access exclusive mode')
    await sweeping.query('alter table renamed rename column state to was')
    await sweeping.work(made.app)
    since = performance.now()
    const cancelled = (name: string) => ear.of('sweep.failed', { job: name }).length > 0
    await ear.until(() => [...hanging, ...lockedOut, 'fails'].every(cancelled), 45_000)
    await sweeping.query(`insert into things values ('late')`)
    await ear.until(() => starts.includes('good late'))
    until = performance.now()
    await sweeping.query('alter table renamed rename column was to state')
    await sweeping.query('update switch set hangs = false')
    await locker.query('commit')
    await locker.end()
  }, 90_000)
  afterAll(() => sweeping.close())

  test('each of them is told with its cause, and its row says so', () => {
    const causes = (name: string) => ear.of('sweep.failed', { job: name }).map(({ error }) => String(error))
    for (const cause of causes('fails')) expect(cause).toContain('column "state" does not exist')
    for (const name of [...hanging, ...lockedOut])
      for (const cause of causes(name)) expect(cause).toContain('canceling statement due to statement timeout')
    expect(ear.of('sweep.failed', { job: 'good' })).toEqual([])
    expect(ear.of('sweep.failed', { job: 'odd' })).toEqual([])
  })

  test('the others are swept on time', () => {
    const gaps = ['good', 'odd'].map((name) => sweeping.gapMs(name, since, until))
    console.log(
      `${hanging.length + lockedOut.length} queries hung; longest gap of the others ${Math.round(Math.max(...gaps))} ms`,
    )
    for (const gap of gaps) expect(gap).toBeLessThan(everyMs + leewayMs)
  })

  test('the worker beats on: nobody is declared dead, and no loop of its own fails', () => {
    const troubles = ear.told.filter(({ event }) => /^worker\.|^loop\.|^queue\./.test(event))
    expect(troubles).toEqual([])
  })

  test('null keys are passed over, and a key that is there three times runs once', async () => {
    expect(starts.filter((start) => start.startsWith('odd')).sort()).toEqual(['odd a', 'odd b'])
    expect(ear.of('sweep.passed', { job: 'odd' })[0]).toMatchObject({ seen: 4, pushed: 2, finished: true })
  })

  test('when the queries answer again, their rows are done', async () => {
    const done = ['fails', 'locked', 'hangs'].map((name) => () => starts.some((start) => start.startsWith(name)))
    await ear.until(() => done.every((each) => each()), 30_000)
    await ear.until(() => [...hanging, ...lockedOut].every((name) => sweeping.passes(name).length > 0), 30_000)
    expect(await sweeping.number(`select count(*) as n from regrow.sweeps where last_error is not null`)).toBe(0)
  })
})

test('with every slot of three workers busy for ten intervals, the longest gap between sweeps is below interval + lease', async () => {
  const sweeping = await Sweeping.open('sweep_busy', tables)
  const [interval, leaseMs] = [1_000, 3_000]
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  try {
    const jobs = ['busy', 'one', 'two', 'three']
    const workers = await Promise.all(
      [1, 2, 3].map(async () => {
        const { app } = sweeping.app({ lease: leaseMs })
        for (const name of jobs)
          app.job(name, {
            pending: sql`select id from things where state = 'pending' and id like ${`${name}%`}`,
            sweep: { every: interval },
            async run(id, ctx) {
              await held
              await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
            },
          })
        return sweeping.work(app, { concurrency: 2 })
      }),
    )
    await sweeping.query(`insert into things select 'busy' || n from generate_series(1, 50) n`)
    const free = async () => (await Promise.all(workers.map((each) => each.capacity()))).map((each) => each.free)
    const starts = () => sweeping.ears.reduce((sum, ear) => sum + ear.of('job.started').length, 0)
    await Promise.race(sweeping.ears.map((ear) => ear.until(() => starts() === 6)))
    const since = performance.now()
    await sweeping.query(`select pg_sleep(${(10 * interval) / 1_000})`)
    expect(await free()).toEqual([0, 0, 0])
    expect(starts()).toBe(6)
    const gaps = jobs.map((name) => Math.round(sweeping.gapMs(name, since)))
    console.log(
      `every slot busy for ten intervals of ${interval} ms: longest gaps between sweeps ${gaps.join(', ')} ms`,
    )
    expect(Math.max(...gaps)).toBeLessThan(interval + leaseMs)
    for (const name of jobs) expect(sweeping.passes(name).filter((at) => at > since).length).toBeGreaterThanOrEqual(4)
  } finally {
    letGo()
    await sweeping.close()
  }
})
