// Whatever a pending query is written with, it is read into text with $n parameters and their values.
import { and, eq, gt, sql as raw } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core'
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { type BuiltQuery, isCustomPending, queryReader } from '../../../src/job/pending.ts'
import { sql } from '../../../src/job/sql.ts'

const databases = pgTable('databases', {
  id: text('id').primaryKey(),
  state: text('state').notNull(),
  size: integer('size').notNull(),
  dueAt: timestamp('due_at', { withTimezone: true }),
})
// Neither of the two connects to anything before a query runs.
const drizzled = drizzle(new pg.Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none' }))
const kysely = new Kysely<{ databases: { id: string; state: string; size: number; due_at: Date } }>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

const drizzleQuery = () =>
  drizzled
    .select({ id: databases.id })
    .from(databases)
    .where(and(eq(databases.state, 'pending'), gt(databases.size, 3)))
const kyselyQuery = () =>
  kysely.selectFrom('databases').select('id').where('state', '=', 'pending').where('size', '>', 3)

describe('a query is read', () => {
  test.each<[string, () => BuiltQuery, { text: string; values: unknown[] }]>([
    [
      'from the sql tag, whose values are parameters',
      () => sql`select id from databases where state = ${'pending'} and size > ${3}`,
      { text: 'select id from databases where state = $1 and size > $2', values: ['pending', 3] },
    ],
    ['from text and values', () => ({ text: ' \n select 1;  \n', values: [] }), { text: 'select 1', values: [] }],
    [
      'from Drizzle',
      drizzleQuery,
      {
        text: 'select "id" from "databases" where ("databases"."state" = $1 and "databases"."size" > $2)',
        values: ['pending', 3],
      },
    ],
    [
      'from Kysely',
      kyselyQuery,
      { text: 'select "id" from "databases" where "state" = $1 and "size" > $2', values: ['pending', 3] },
    ],
    [
      'with every kind of value that all clients pass alike',
      () => sql`select ${'a'}, ${1.5}, ${true}, ${null}, ${9007199254740993n}`,
      { text: 'select $1, $2, $3, $4, $5', values: ['a', 1.5, true, null, '9007199254740993'] },
    ],
  ])('%s', (_, build, expected) => {
    expect(queryReader(build())()).toEqual(expected)
    expect(queryReader(build)()).toEqual(expected)
  })

  test.each(['select 1', 'SELECT 1', 'with x as (select 1) select * from x', 'values (1)', 'table databases'])(
    '%s',
    (text) => {
      expect(queryReader({ text, values: [] })()).toEqual({ text, values: [] })
    },
  )
})

describe('a query is refused', () => {
  const date = new Date('2026-01-02T03:04:05Z')
  test.each<[string, unknown, string, RegExp]>([
    [
      'a date that the sql tag froze',
      sql`select id from databases where due_at < ${date}`,
      'frozen_date',
      /2026-01-02T03:04:05.000Z.*fixed at the time it was built.*Use now\(\) in the SQL.*pending: \(\) => query/s,
    ],
    [
      'a date that Drizzle froze',
      drizzled.select({ id: databases.id }).from(databases).where(raw`due_at < ${date}`),
      'frozen_date',
      /fixed at the time it was built/,
    ],
    [
      'a date that Kysely froze',
      kysely.selectFrom('databases').select('id').where('due_at', '<', date),
      'frozen_date',
      /fixed at the time it was built/,
    ],
    ['an array', sql`select id from databases where id = any(${['a']})`, 'bad_parameter', /is an array.*sql\.array/s],
    ['an object', sql`select ${{}}`, 'bad_parameter', /is of type object/],
    ['undefined', sql`select ${undefined}`, 'bad_parameter', /is of type undefined/],
    ['a write', sql`delete from databases returning id`, 'bad_pending', /begins with "delete from databases/],
    ['nothing', { text: '', values: [] }, 'bad_pending', /begins with ""/],
    ['null', null, 'bad_pending', /cannot be read from null.*Drizzle or Kysely/s],
    ['a number', 7, 'bad_pending', /cannot be read from number/],
    ['an object of another kind', { page: () => [] }, 'bad_pending', /cannot be read from object/],
  ])('%s', (_, pending, code, message) => {
    expect(() => queryReader(pending as BuiltQuery)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    )
  })
})

test('a function is asked each time, so its dates are new', () => {
  let year = 2026
  const read = queryReader(() => sql`select id from databases where due_at < ${new Date(Date.UTC(year++, 0))}`)
  expect(read().values).toEqual(['2026-01-01T00:00:00.000Z'])
  expect(read().values).toEqual(['2027-01-01T00:00:00.000Z'])
})

test('a query that is given as it is is read once', () => {
  let built = 0
  const read = queryReader({ toSQL: () => ({ sql: `select ${++built}`, params: [] }) })
  expect([read().text, read().text]).toEqual(['select 1', 'select 1'])
})

test('a custom source has both of its methods', () => {
  const page = async () => []
  const isPending = async () => []
  expect(isCustomPending({ page, isPending })).toBe(true)
  expect(isCustomPending({ isPending } as never)).toBe(false)
  expect(isCustomPending(sql`select 1`)).toBe(false)
})
