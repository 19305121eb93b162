// A store without the optional ports for diagnosis and coverage: doctor, why, coverage and the dry run say what they cannot know,
// and everything else works.

import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { type App, regrow, type StoreDriver, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'

const db = new PGlite()
const apps: App[] = []
beforeAll(() => db.exec(`create table orders (id int primary key, state text not null)`))
afterAll(async () => {
  for (const app of apps) await app.close()
  await db.close()
})

/** PGlite's store, as one of another database might be. */
const plain: StoreDriver = {
  ...(pglite(db) as unknown as StoreDriver),
  async open(surroundings) {
    const opened = await (pglite(db) as unknown as StoreDriver).open(surroundings)
    return { ...opened, store: { ...opened.store, diagnosis: undefined, coverage: undefined } }
  },
}

function orders(covers = false): App {
  const app = regrow({ store: plain, log: false })
  apps.push(app)
  app.job('order.ship', {
    key: 'int',
    pending: sql`select id from orders where state = 'paid'`,
    ...(covers && { covers: { table: 'orders', column: 'state', terminal: ['shipped'] } }),
    run() {},
  })
  return app
}

test('doctor says that server and queries were not examined, and examines the rest', async () => {
  const app = orders()
  await operate(app).migrate()
  await db.query(`insert into regrow.ledger (job, key, state) values ('gone', 'k', 'quarantined')`)
  const { findings, jobs, at } = await operate(app).doctor()
  const unknown = findings.filter(({ code }) => code === 'not_examined')
  expect(unknown.map(({ level, job, message }) => [level, job, message])).toEqual([
    ['note', null, 'The server and the costs of the pending queries were not examined: this store cannot'],
  ])
  expect(findings.filter(({ job }) => job === 'gone')).toHaveLength(2)
  expect(jobs).toEqual([])
  expect(at).toBeInstanceOf(Date)
})

test('coverage is not claimed where it cannot be proven', async () => {
  expect(await operate(orders()).coverage()).toEqual({ covered: true, columns: [], findings: [] })
  const { covered, findings } = await operate(orders(true)).coverage()
  expect(covered).toBe(false)
  expect(findings.map(({ job, code }) => [job, code])).toEqual([['order.ship', 'coverage_unknown']])
})

test('why says that the failing condition is not known', async () => {
  await db.query(`insert into orders values (1, 'shipped')`)
  const { sentence } = await operate(orders()).why('order.ship', 1)
  expect(sentence).toContain(
    'The pending query does not return it. Which of its conditions fails is not known: this store does not say.',
  )
})

test('a dry run counts held rows without the reasons', async () => {
  await db.query(`insert into orders values (2, 'paid'), (3, 'paid')`)
  await db.query(`insert into regrow.ledger (job, key, state) values ('order.ship', '3', 'quarantined')`)
  const [report] = await operate(orders()).sweep({ dryRun: true })
  expect(report).toMatchObject({ seen: 2, eligible: 1, held: 1, heldBy: null, error: null })
})
