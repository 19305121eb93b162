// Real processes on a real Postgres are killed, stopped and robbed of their hints; the fleet heals.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FleetSettings, WorkerProcess } from '../processes/fleet.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let client: pg.Client
const fleet: WorkerProcess[] = []

beforeAll(async () => {
  database = await freshDatabase('heal')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`
    create table rows (id bigint primary key, state text not null);
    create index on rows (id) where state = 'pending';
    create table effects (id bigint not null);
  `)
})
beforeEach(async () => {
  await client.query(`truncate rows, effects`)
  await client.query(
    `do $$ begin truncate regrow.ledger, regrow.hints, regrow.workers, regrow.sweeps; exception when others then null; end $$`,
  )
})
afterEach(() => {
  for (const worker of fleet.splice(0)) worker.kill()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const start = (settings: Omit<FleetSettings, 'url'>) => {
  const worker = new WorkerProcess({ url: database.url, ...settings })
  fleet.push(worker)
  return worker
}
const fill = (count: number) => client.query(`insert into rows select n, 'pending' from generate_series(1, ${count}) n`)
const number = async (text: string) => Number((await client.query(text)).rows[0]?.n)
/** Asks the database until `text` answers 0. */
async function until0(text: string): Promise<void> {
  while ((await number(text)) > 0) await client.query(`select pg_sleep(0.05)`)
}
const pending = `select count(*) as n from rows where state = 'pending'`

test('fifty running jobs of a worker killed with -9 start again within lease + 2 s at the default lease of 15 s', async () => {
  await fill(50)
  const victim = start({ mode: 'hold', pool: 4, concurrency: 50 })
  await victim.hears((told) => told.filter(({ started }) => started).length === 50)
  const heir = start({ mode: 'hold', pool: 4, concurrency: 50 })
  await heir.ready()
  victim.kill()
  const killedAt = performance.now()
  await heir.hears((told) => new Set(told.map(({ started }) => started).filter(Boolean)).size === 50)
  const seconds = (performance.now() - killedAt) / 1000
  console.log(`fifty killed jobs started again after ${seconds.toFixed(1)} s`)
  expect(seconds).toBeLessThan(17)
  heir.child.send('release')
  await until0(pending)
  expect(await number(`select count(*) as n from effects`)).toBe(50)
  expect(await number(`select count(distinct id) as n from effects`)).toBe(50)
  expect(await heir.stop()).toBeGreaterThan(0)
}, 60_000)

test('a worker stopped for two leases wakes up, and its results are discarded', async () => {
  await fill(10)
  const sleeper = start({ mode: 'hold', pool: 4, lease: '2s' })
  await sleeper.hears((told) => told.filter(({ started }) => started).length === 10)
  const other = start({ mode: 'hold', pool: 4, lease: '2s' })
  await other.ready()
  sleeper.signal('SIGSTOP')
  await other.hears((told) => told.some(({ freed }) => freed))
  await other.hears((told) => new Set(told.map(({ started }) => started).filter(Boolean)).size === 10)
  other.child.send('release')
  await until0(pending)
  sleeper.child.send('release')
  sleeper.signal('SIGCONT')
  await sleeper.hears((told) => told.filter(({ leaseLost }) => leaseLost).length === 10)
  await sleeper.hears((told) => told.some(({ gone }) => gone))
  expect(await number(`select count(*) as n from effects`)).toBe(10)
  expect(await number(`select count(distinct id) as n from effects`)).toBe(10)
}, 60_000)

test('hints deleted from the queue table while it is worked off run all the same', async () => {
  await fill(4_000)
  const workers = [1, 2].map(() => start({ mode: 'one', pool: 4, concurrency: 20 }))
  await Promise.all(workers.map((worker) => worker.ready()))
  const robbed = new Set<string>()
  while ((await number(pending)) > 2_000) {
    const { rows } = await client.query(
      `delete from regrow.hints where (job, key) in (select job, key from regrow.hints limit 300 for update skip locked) returning key`,
    )
    for (const { key } of rows) robbed.add(key)
    await client.query(`select pg_sleep(0.2)`)
  }
  expect(robbed.size).toBeGreaterThan(0)
  console.log(`${robbed.size} hints deleted`)
  await until0(pending)
  expect(await number(`select count(*) as n from effects`)).toBe(4_000)
  expect(await number(`select count(distinct id) as n from effects`)).toBe(4_000)
}, 120_000)
