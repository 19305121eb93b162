// What a worker costs that has nothing to do, on the default queue.
import pg from 'pg'
import { expect, test } from 'vitest'
import { postgres } from '../../src/backends/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { freshDatabase } from '../services/database.ts'
import { Ear } from './world.ts'

const seconds = 20

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
  const before = await transactions()
  await admin.query(`select pg_sleep(${seconds})`)
  const perSecond = ((await transactions()) - before) / seconds
  const { rows } = await admin.query(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
  )
  console.log(`idle: ${perSecond} transactions per second, ${rows[0].n} connections`)
  expect(perSecond).toBeGreaterThan(1)
  expect(perSecond).toBeLessThanOrEqual(3)
  expect(rows[0].n).toBeLessThanOrEqual(3)
  await worker.stop()
  await app.close()
  await admin.end()
  await database.drop()
}, 90_000)
