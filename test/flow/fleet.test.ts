// Four worker processes on one Postgres: everything is done, effects through ctx.tx happen once, in few statements.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FleetSettings, WorkerProcess } from '../processes/fleet.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let client: pg.Client
const fleet: WorkerProcess[] = []

beforeAll(async () => {
  database = await freshDatabase('fleet')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`
    create table rows (id bigint primary key, state text not null);
    create index on rows (id) where state = 'pending';
    create table tried (id bigint primary key);
    create table effects (id bigint not null);
  `)
})
beforeEach(() => client.query(`truncate rows, tried, effects`))
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
/** Asks the database until nothing is pending. */
async function allDone(): Promise<void> {
  while ((await number(`select count(*) as n from rows where state = 'pending'`)) > 0)
    await client.query(`select pg_sleep(0.1)`)
}

test('four processes do 100,000 rows, 5 % of which fail once, each effect once, in under 0.2 statements per row', async () => {
  await fill(100_000)
  const workers = [1, 2, 3, 4].map(() => start({ mode: 'many', pool: 4 }))
  await Promise.all(workers.map((worker) => worker.ready()))
  const begun = performance.now()
  await allDone()
  const seconds = (performance.now() - begun) / 1000
  const statements = (await Promise.all(workers.map((worker) => worker.stop()))).reduce((sum, each) => sum + each, 0)
  console.log(`100,000 rows in ${seconds.toFixed(1)} s, ${(statements / 100_000).toFixed(3)} statements per row`)
  expect(await number(`select count(*) as n from effects`)).toBe(100_000)
  expect(await number(`select count(distinct id) as n from effects`)).toBe(100_000)
  expect(await number(`select count(*) as n from tried`)).toBe(5_000)
  expect(await number(`select count(*) as n from regrow.ledger`)).toBe(0)
  expect(statements / 100_000).toBeLessThan(0.2)
}, 180_000)
