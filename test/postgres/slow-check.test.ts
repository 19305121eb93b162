// A store that cancels checks, because a table is locked or the role may take no time, is no key's fault: nothing is counted, it is
// reported, and when it is over everything runs.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { RegrowError, regrow, sql } from '../../src/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let admin: pg.Client

beforeAll(async () => {
  database = await freshDatabase('slow_check')
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await admin.query(`create table things (id text primary key, state text not null default 'pending')`)
  // Read by the pending query, so that checks of two jobs can be told apart: this one alone is locked.
  await admin.query(`create table gate (open boolean); insert into gate values (true)`)
  await admin.query(`create function slow(id text) returns boolean language plpgsql stable cost 100000 as $$
    begin if id = 'slow' then perform pg_sleep(30); end if; return true; end $$`)
  await admin.query(`alter database "${database.name}" set statement_timeout = 300`)
  await admin.query(`set statement_timeout = 0`)
})
afterEach(() => admin.query(`rollback`))
afterAll(async () => {
  await admin.end()
  await database.drop()
})

function begin(name: string, pending: string) {
  const app = regrow({ store: postgres(database.url), lease: '10s' })
  const ear = new Ear(app)
  const job = app.job(name, {
    pending: { text: pending, values: [] },
    sweep: { every: '1h' },
    // One failure would quarantine it.
    retry: { attempts: 1 },
    run: (id, ctx) => ctx.tx(sql`update things set state = 'done' where id = ${id}`),
  })
  return { app, ear, job }
}

/** Adds rows that nobody has looked at yet. */
const add = (...ids: string[]) =>
  admin.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(ids)])

test.each([
  ['one key', 'thing.one', ['lone']],
  ['five keys', 'thing.five', ['a', 'b', 'c', 'd', 'e']],
])(
  'the checks of %s are cancelled while a table is locked: nothing is counted, and they run afterwards',
  async (_, name, ids) => {
    const { app, ear, job } = begin(name, `select id from things, gate where state = 'pending' and open`)
    const worker = app.work({ concurrency: 10 })
    await worker.ready
    await ear.hears('sweep.passed')
    await add(...ids)
    await admin.query(`begin; lock table gate in access exclusive mode`)
    await job.enqueueMany(ids)
    const cancelled = () =>
      ear.of('loop.failed').filter(({ error }) => error instanceof RegrowError && error.code === 'check_cancelled')
    await ear.until(() => cancelled().length >= 2)
    expect(cancelled()[0]).toMatchObject({ loop: 'claim', job: name })
    await admin.query(`commit`)
    await ear.until(() => ear.of('job.settled', { state: 'done' }).length === ids.length)
    await worker.stop()
    await app.close()
    expect(ear.of('job.settled').filter(({ state }) => state !== 'done')).toEqual([])
    expect((await admin.query(`select key from regrow.ledger`)).rows).toEqual([])
  },
)

test('a key whose check is cancelled while those of others pass fails by itself, and they run', async () => {
  const { app, ear, job } = begin('thing.slow', `select id from things where state = 'pending' and slow(id)`)
  const ids = ['k1', 'k2', 'k3', 'slow', 'k5', 'k6', 'k7']
  const worker = app.work({ concurrency: 10 })
  await worker.ready
  await ear.hears('sweep.passed')
  await add(...ids)
  await job.enqueueMany(ids)
  await ear.until(() => ear.of('job.settled').length === ids.length)
  await worker.stop()
  await app.close()
  expect(ear.of('job.settled', { state: 'done' })).toHaveLength(6)
  expect(ear.of('job.settled', { key: 'slow' })).toMatchObject([
    { state: 'quarantined', error: expect.stringContaining('statement timeout') },
  ])
})
