// The queue of a real Postgres does not answer while the store does: workers go on from the rows, and come back to it.

import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, regrow, sql, type WorkerHandle } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let admin: pg.Client
let apps: { app: App; ear: Ear; worker: WorkerHandle }[] = []

beforeAll(async () => {
  database = await freshDatabase('queue_down')
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await database.drop()
})
beforeEach(async () => {
  await admin.query(`drop table if exists things, effects; drop schema if exists regrow cascade;
    create table things (id int primary key, state text not null default 'pending'); create table effects (id int, by int)`)
  apps = [1, 2].map((by) => {
    const app = regrow({ store: postgres(database.url), lease: '5s', log: false })
    app.job('thing.make', {
      key: 'int',
      pending: sql`select id from things where state = 'pending'`,
      run: (id, ctx) =>
        ctx.tx(async (tx) => {
          await tx.query(`insert into effects values ($1, $2)`, [id, by])
          await tx.query(`select pg_sleep(0.02)`)
          await tx.query(`update things set state = 'done' where id = $1`, [id])
        }),
    })
    return { app, ear: new Ear(app), worker: app.work({ concurrency: 4 }) }
  })
  await Promise.all(apps.map(({ worker }) => worker.ready))
})
afterEach(async () => {
  await Promise.all(apps.map(({ worker }) => worker.stop()))
  await Promise.all(apps.map(({ app }) => app.close()))
})

const ears = () => apps.map(({ ear }) => ear)
const all = async (event: 'queue.down' | 'queue.up') => {
  for (const ear of ears()) await ear.until(() => ear.of(event).length > 0, 40_000)
}
const insert = (from: number, to: number) =>
  admin.query(`insert into things select n from generate_series($1::int, $2::int) n`, [from, to])
const done = async () => {
  for (;;) {
    const { rows } = await admin.query(`select count(*)::int as n from things where state = 'pending'`)
    if (rows[0].n === 0) return
    await admin.query(`select pg_sleep(0.05)`)
  }
}
const effects = async () =>
  (
    await admin.query(
      `select by, count(*)::int as n, count(distinct id)::int as keys from effects group by by order by by`,
    )
  ).rows

test('a queue that fails every statement: both workers go on by themselves, and come back to it', async () => {
  await admin.query(`alter table regrow.hints rename column due_at to away`)
  await insert(1, 200)
  await all('queue.down')
  await done()
  await admin.query(`alter table regrow.hints rename column away to due_at`)
  await all('queue.up')
  const first = await effects()
  expect(first.map(({ by }) => by)).toEqual([1, 2])
  await insert(201, 300)
  await operate(apps[0]?.app as App).sweep()
  await done()
  const rows = await effects()
  expect(rows.reduce((sum, { n }) => sum + n, 0)).toBe(300)
  expect(rows.reduce((sum, { keys }) => sum + keys, 0)).toBe(300)
  for (const ear of ears()) expect([...ear.of('queue.lost'), ...ear.of('worker.gone')]).toEqual([])
}, 90_000)

test('a queue whose table is locked: beats go on, no worker is declared dead, and the rows are worked off', async () => {
  const locker = new pg.Client({ connectionString: database.url })
  await locker.connect()
  try {
    await locker.query(`begin; lock table regrow.hints in access exclusive mode`)
    await insert(1, 60)
    await done()
    for (const ear of ears()) expect(ear.of('queue.down')).toHaveLength(1)
    await locker.query('rollback')
    await all('queue.up')
    await insert(61, 120)
    await operate(apps[0]?.app as App).sweep()
    await done()
    const rows = await effects()
    expect(rows.reduce((sum, { n }) => sum + n, 0)).toBe(120)
    for (const ear of ears()) expect([...ear.of('queue.lost'), ...ear.of('worker.gone')]).toEqual([])
  } finally {
    await locker.end()
  }
}, 90_000)
