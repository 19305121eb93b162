// Pending queries hang, because a migration holds their tables: that costs their own jobs alone, however many they are. The worker goes
// on with the others, stops within its grace, and runs everything when the tables are free again.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { pledge } from '../../src/base/deferred.ts'
import { type PostgresGiven, postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let admin: pg.Client
let locker: pg.Client
/** What runs wait for. */
let gate: Promise<void> = Promise.resolve()

beforeAll(async () => {
  database = await freshDatabase('hanging_checks')
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await admin.query(
    `create table things (job text, id int, state text not null default 'pending', primary key (job, id))`,
  )
  // Read by the pending queries, so that these alone wait for them.
  for (let n = 0; n < 12; n++)
    await admin.query(`create table gate_${n} (open boolean); insert into gate_${n} values (true)`)
})
beforeEach(async () => {
  await admin.query(`truncate things`)
  locker = new pg.Client({ connectionString: database.url })
  await locker.connect()
})
afterEach(() => locker.end())
afterAll(async () => {
  await admin.end()
  await database.drop()
})

const lock = async (...gates: number[]) => {
  await locker.query('begin')
  await locker.query(`lock table ${gates.map((n) => `gate_${n}`).join(', ')} in access exclusive mode`)
}

/** A worker with a job that is well, and one for each gate. */
async function begin(name: string, given: PostgresGiven, gates: number) {
  const app = regrow({ store: postgres(given), log: false })
  const ear = new Ear(app)
  const add = (job: string, ids: readonly number[]) =>
    admin.query(`insert into things (job, id) select $1, unnest($2::int[])`, [job, ids])
  const declare = (job: string, from: string) => {
    const { enqueueMany } = app.job(job, {
      key: 'int',
      pending: { text: `select id from things${from} where job = '${job}' and state = 'pending'`, values: [] },
      sweep: { every: '1h' },
      retry: { attempts: 1 },
      async run(id, ctx) {
        await gate
        await ctx.tx(sql`update things set state = 'done' where job = ${job} and id = ${id}`)
      },
    })
    const enqueue = async (ids: readonly number[]) => {
      await add(job, ids)
      await enqueueMany([...ids])
    }
    return { job, enqueue }
  }
  const well = declare(`${name}.well`, '')
  const hung = Array.from({ length: gates }, (_, n) => declare(`${name}.hung_${n}`, `, gate_${n}`))
  const worker = app.work({ concurrency: 10 })
  await worker.ready
  await ear.until(() => ear.of('sweep.passed').length > gates)
  const done = (job: string) => ear.of('job.settled', { job, state: 'done' }).length
  return { app, ear, worker, well, hung, done }
}

const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

async function goesOnBeside(name: string, given: PostgresGiven, gates: number, withinMs: number) {
  const { app, ear, worker, well, hung, done } = await begin(name, given, gates)
  for (const { job, enqueue } of hung) {
    await enqueue([0])
    await ear.until(() => done(job) === 1)
  }
  await lock(...range(0, gates))
  // More than there are slots, of every job.
  for (const { enqueue } of hung) await enqueue(range(1, 15))
  const tookMs: number[] = []
  for (let n = 0; n < 60; n++) {
    const since = performance.now()
    await well.enqueue(range(n * 2, 2))
    await ear.until(() => done(well.job) === n * 2 + 2)
    tookMs.push(performance.now() - since)
  }
  const sorted = tookMs.toSorted((a, b) => a - b)
  console.log(`${name}: median ${sorted[30]?.toFixed(0)} ms, longest ${sorted[59]?.toFixed(0)} ms`)
  expect(sorted[59]).toBeLessThan(withinMs)
  expect(ear.of('job.settled').filter(({ state }) => state !== 'done')).toEqual([])
  await locker.query('commit')
  await ear.until(() => hung.every(({ job }) => done(job) === 16), 40_000)
  expect(ear.of('job.settled').filter(({ state }) => state !== 'done')).toEqual([])
  expect(ear.of('worker.gone')).toEqual([])
  await worker.stop()
  await app.close()
}

test(
  'twelve jobs whose tables are locked do not delay a thirteenth',
  () => goesOnBeside('url', database.url, 12, 5_000),
  60_000,
)

test('nor in a pool of the user, where half of the connections are for checks', async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 10 })
  await goesOnBeside('pool', pool, 3, 5_000)
  await pool.end()
}, 60_000)

test('a worker stops within its grace while checks and questions about progress hang, and nothing is counted', async () => {
  const { app, ear, worker, hung, done } = await begin('stop', database.url, 1)
  const [{ job, enqueue }] = hung as [(typeof hung)[0]]
  // The run ends when its question about progress can only hang.
  const { promise, resolve: open } = pledge()
  gate = promise
  await enqueue([1])
  await ear.hears('job.started', { job })
  await lock(0)
  open()
  await ear.until(() => done(job) === 1)
  // These are taken, and their check hangs.
  await enqueue(range(2, 5))
  await expect
    .poll(async () => (await admin.query(`select 1 from regrow.ledger where holder is not null`)).rows.length)
    .toBeGreaterThan(0)
  const since = performance.now()
  await worker.stop({ grace: '1s' })
  const tookMs = performance.now() - since
  console.log(`stopped in ${tookMs.toFixed(0)} ms`)
  expect(tookMs).toBeLessThan(3_500)
  expect((await admin.query(`select * from regrow.ledger`)).rows).toEqual([])
  expect((await admin.query(`select * from regrow.workers`)).rows).toEqual([])
  await locker.query('commit')
  // Their hints are back in the queue.
  const { rows } = await admin.query(`select key from regrow.hints where job = $1 order by key`, [job])
  expect(rows.map(({ key }) => key)).toEqual(['2', '3', '4', '5', '6'])
  await app.close()
}, 60_000)
