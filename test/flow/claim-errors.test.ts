// A store that fails between the check and the start: what was taken is given back, and runs after all.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { regrow, type StoreDriver, sql } from '../../src/index.ts'
import { Ear, openPglite } from './world.ts'

let db: PGlite
beforeAll(async () => {
  db = await openPglite(`create table things (id text primary key, state text not null)`)
})
afterAll(() => db.close())

/** A store whose first `failures` releases fail before they reach the database. */
function failingRelease(failures: number): StoreDriver {
  const driver = pglite(db)
  return {
    ...driver,
    async open(around) {
      const opened = await driver.open(around)
      const { ledger } = opened.store
      const release: typeof ledger.release = async (...args) => {
        if (failures-- > 0) throw new Error('the store is away')
        return ledger.release(...args)
      }
      return { ...opened, store: { ...opened.store, ledger: { ...ledger, release } } }
    },
  }
}

test('a key whose batch failed between check and start is not held for ever: it runs', async () => {
  await db.exec(`insert into things values ('a', 'pending'), ('b', 'done')`)
  const app = regrow({ store: failingRelease(2), lease: '2s', log: false })
  const ear = new Ear(app)
  const job = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '1h' },
    run: (id) => db.query(`update things set state = 'done' where id = $1`, [id]),
  })
  // Both in one batch: 'b' is not pending, and giving it back is what fails.
  await job.enqueueMany(['a', 'b'])
  const worker = app.work()
  await ear.hears('loop.failed', { loop: 'claim', job: 'thing.make' })
  await ear.hears('job.settled', { key: 'a', state: 'done' })
  await worker.stop()
  const { rows } = await db.query(`select key from regrow.ledger`)
  expect(rows).toEqual([])
  await app.close()
})

test('a batch that needs more calls than there are slots, and cannot be given back in part, runs all the same', async () => {
  await db.exec(`
    insert into things values ('x', 'pending'), ('y', 'pending'), ('z', 'pending');
    insert into regrow.ledger (job, key, state, failures, together, retry_at)
      select 'thing.many', id, 'retrying', 1, 1, now() - interval '1 s' from things where state = 'pending'`)
  const app = regrow({ store: failingRelease(1), lease: '2s', log: false })
  const ear = new Ear(app)
  const job = app.job('thing.many', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '1h' },
    batch: 100,
  })
  const handler = job.handle((ids) => db.query(`update things set state = 'done' where id = any($1)`, [ids]))
  await job.enqueueMany(['x', 'y', 'z'])
  // Each has failed in a batch and runs by itself now; there is one slot.
  const worker = app.work({ handlers: [handler], concurrency: 1 })
  await ear.hears('loop.failed', { loop: 'claim', job: 'thing.many' })
  await ear.until(() => ear.of('job.settled', { job: 'thing.many', state: 'done' }).length === 3)
  await worker.stop()
  expect((await db.query(`select key from regrow.ledger`)).rows).toEqual([])
  await app.close()
})
