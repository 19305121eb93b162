// The doctor on two million rows: it names the index that is missing, is quiet when it is there, and the page costs what it said.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, regrow, sql } from '../../src/index.ts'
import { type DoctorReport, type JobCosts, operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

const rows = 2_000_000
let database: FreshDatabase
let client: pg.Client
let app: App

beforeAll(async () => {
  database = await freshDatabase('doctor_index')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  // Every 20,000th waits.
  await client.query(`
    create unlogged table orders (id bigint primary key, state varchar(20) not null);
    insert into orders select n, case when n % 20000 = 0 then 'pending' else 'done' end
      from generate_series(1, ${rows}) n;
    analyze orders`)
  app = regrow({ store: postgres(database.url) })
  app.job('order.ship', {
    key: 'bigint',
    pending: sql`select id from orders where state = ${'pending'}`,
    run() {},
  })
  await operate(app).migrate()
}, 60_000)
afterAll(async () => {
  await app?.close()
  await client?.end()
  await database?.drop()
})

const about = ({ findings }: DoctorReport) => findings.filter(({ job }) => job === 'order.ship')
const costs = ({ jobs }: DoctorReport) => jobs[0] as JobCosts

test('without an index it names the one that is missing, and after it was made the page costs what it said', async () => {
  const before = await operate(app).doctor()
  expect(before.healthy).toBe(false)
  expect(about(before)).toMatchObject([
    {
      level: 'bad',
      code: 'index_missing',
      message: expect.stringMatching(
        /^order\.ship: its page reads [12],\d{3},\d{3} rows of public\.orders to find 100 \([\d,]+ blocks, [\d.]+ ms\)$/,
      ),
      hint: expect.stringContaining('With this index it reads about 100 rows, in 107 blocks at most: create index'),
      fix: `create index concurrently orders_id_where_state_pending on public.orders (id) where state = 'pending';`,
    },
  ])
  const [wish] = costs(before).indexes
  expect(costs(before).page).toMatchObject({ rows: 100, ms: expect.any(Number) })
  // Of parallel workers the server tells the mean, and rounds it.
  expect(Math.abs((wish?.now.rows as number) - rows)).toBeLessThan(10)
  expect(wish).toMatchObject({ after: { rows: 100, blocks: 107 } })
  expect(wish?.now.blocks).toBeGreaterThan(5_000)
  // A check by key goes by the primary key.
  expect(costs(before).check?.rowsRead).toBe(100)

  await client.query(wish?.statement as string)

  const after = await operate(app).doctor()
  expect(about(after)).toEqual([])
  expect(after.healthy).toBe(true)
  expect(costs(after).indexes).toEqual([])
  expect(costs(after).page).toMatchObject({ rows: 100, rowsRead: 100 })
  expect(costs(after).page?.blocks).toBeLessThan((costs(before).page?.blocks as number) / 50)
})
