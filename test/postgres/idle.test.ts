// What a worker costs that has nothing to do, on the default queue.
import pg from 'pg'
import { expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { Ear } from '../flow/world.ts'
import { freshDatabase } from '../services/database.ts'

const seconds = 8
const most = 3

test('an idle worker costs three transactions per second at most, and three connections', async () => {
  const database = await freshDatabase('idle')
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await admin.query(`create table things (id int primary key, state text)`)
  const app = regrow({ store: postgres(database.url), log: false })
  const ear = new Ear(app)
  app.job('thing.make', { key: 'int', pending: sql`select id from things where state = 'pending'`, run() {} })
  const worker = app.work()
  await worker.ready
  await ear.hears('sweep.passed')
  const transactions = async () =>
    Number(
      (
        await admin.query(
          `select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()`,
        )
      ).rows[0].n,
    )
  // The counters are some seconds behind the start, and so are the connections that it needed.
  await admin.query(`select pg_sleep(12)`)
  // The server adds its own, such as those of autovacuum: the quietest of a few spans is what the worker costs. One is enough.
  const spans: number[] = []
  while (spans.length < 8 && !spans.some((each) => each <= most)) {
    const before = await transactions()
    await admin.query(`select pg_sleep(${seconds})`)
    spans.push(((await transactions()) - before) / seconds)
  }
  const perSecond = Math.min(...spans)
  console.log(`idle: ${spans.join(', ')} transactions per second`)
  expect(perSecond).toBeGreaterThan(1)
  expect(perSecond).toBeLessThanOrEqual(most)
  const connections = async () =>
    (
      await admin.query(
        `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
    ).rows[0].n
  // One that was needed in between is closed after 10 s.
  await expect.poll(connections, { timeout: 30_000 }).toBeLessThanOrEqual(3)
  await worker.stop()
  await app.close()
  await admin.end()
  await database.drop()
}, 150_000)
