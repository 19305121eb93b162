// The coverage contract in a user's CI: on PGlite, with the user's migrations and no rows at all.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { type App, type Covers, regrow, sql } from '../../src/index.ts'
import { expectCoverage } from '../../src/testing/index.ts'
import { openPglite } from './world.ts'

let db: PGlite

beforeAll(async () => {
  db = await openPglite(`
    create type state as enum ('pending', 'creating', 'ready', 'failed');
    create table databases (id uuid primary key, state state not null default 'pending', attempts int not null default 0);
    create table "Mails" (id uuid primary key, status varchar(20) not null check (status in ('new', 'sent', 'dead')),
      paid boolean not null default false)`)
}, 30_000)

afterAll(() => db.close())

const covers: Covers = { table: 'databases', column: 'state', terminal: ['ready', 'failed'] }

function appOf(
  pending = sql`select id from databases where state in ('pending', 'creating') and attempts < 5`,
  what = covers,
): App {
  const app = regrow({ store: pglite(db) }) as unknown as App
  app.job('database.create', { key: 'uuid', pending, covers: what })
  return app
}

const message = (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing',
    (error: Error) => error.message,
  )

test('passes when every state is terminal or claimed, on empty tables', async () => {
  const report = await expectCoverage(appOf())
  expect(report.findings).toEqual([])
  expect(report.columns[0]?.values).toMatchObject([
    {
      value: 'pending',
      terminal: false,
      claims: [{ job: 'database.create', proof: 'trial', clock: false }],
      unclaimed: { count: 0, more: false, keys: [] },
    },
    {
      value: 'creating',
      terminal: false,
      claims: [{ job: 'database.create', proof: 'trial', clock: false }],
      unclaimed: { count: 0, more: false, keys: [] },
    },
    { value: 'ready', terminal: true, claims: [], unclaimed: null },
    { value: 'failed', terminal: true, claims: [], unclaimed: null },
  ])
})

test('throws one error that lists all: a state added to the enum, one of a CHECK constraint, one of a boolean', async () => {
  await db.exec(`alter type state add value 'archiving'`)
  const app = appOf()
  const mails = sql`select id from "Mails" where status = ${'new'} and not paid`
  app.job('mail.send', {
    key: 'uuid',
    pending: mails,
    covers: [
      { table: 'Mails', column: 'status', terminal: ['sent', 'deda'] },
      { table: 'Mails', column: 'paid' },
    ],
  })
  expect(await message(expectCoverage(app))).toBe(`Coverage: 4 things are wrong
  - databases.state: 'archiving' is neither terminal nor claimed by any job [state_unclaimed]
    Let a pending query return it, or name it in \`terminal\` if nothing is to be done any more, in \`waits\` if its rows wait for something else.
  - Mails.status: 'dead' is neither terminal nor claimed by any job [state_unclaimed]
    Let a pending query return it, or name it in \`terminal\` if nothing is to be done any more, in \`waits\` if its rows wait for something else.
  - Mails.paid: 'true' is neither terminal nor claimed by any job [state_unclaimed]
    Let a pending query return it, or name it in \`terminal\` if nothing is to be done any more, in \`waits\` if its rows wait for something else.
  - Mails.status cannot be 'deda', which \`terminal\` names; did you mean 'dead'? [terminal_unknown]
    Write 'dead'.
  → Mend that; what is meant to be may be passed as \`ignore: [code]\`.`)
  expect(await message(expectCoverage(app, { ignore: ['state_unclaimed'] }))).toContain('1 thing is wrong')
})

test('a query that asks more of a row is tried on rows that are given, and they are not written', async () => {
  const pending = sql`select id from databases where state not in ('ready', 'failed', 'archiving') and attempts between 3 and 5`
  const app = () => appOf(pending, { ...covers, terminal: ['ready', 'failed', 'archiving'] })
  const unknown = (await expectCoverage(app())).findings.map(({ code }) => code)
  expect(unknown).toEqual(['state_unknown', 'state_unknown'])
  expect((await expectCoverage(app(), { rows: { databases: [{ attempts: 4 }] } })).findings).toEqual([])
  expect((await db.query('select 1 from databases')).rows).toEqual([])
})

test('an app without any covers is a mistake of the test, and throws', async () => {
  const app = regrow({ store: pglite(db) })
  app.job('database.create', { key: 'uuid', pending: sql`select id from databases` })
  expect(await message(expectCoverage(app))).toMatch(/^No job of this app covers a table/)
})
