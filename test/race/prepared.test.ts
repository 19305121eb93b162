// Statements of regrow's own are prepared on a connection to the server itself, and nowhere else.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepared } from '../../src/drivers/postgres/client/prepared.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
const pools: pg.Pool[] = []

beforeAll(async () => {
  database = await freshDatabase('prepared')
})
afterAll(async () => {
  for (const pool of pools) await pool.end()
  await database.drop()
})

function poolOf(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 1, pipeline: true })
  pool.on('error', () => {})
  pools.push(pool)
  return pool
}

const names = `select name, generic_plans + custom_plans as times from pg_prepared_statements where statement like '%hello%' order by name`

test('a statement is prepared once for all its calls, and its plan may neither read whole tables nor be compiled', async () => {
  const pool = poolOf(database.url)
  const own = prepared(pool as never)
  for (const word of ['a', 'b', 'c'])
    expect((await own.query(`select 'hello ' || $1::text as said`, [word])).rows).toEqual([{ said: `hello ${word}` }])
  expect((await pool.query(names)).rows).toEqual([{ name: expect.stringMatching(/^regrow_/), times: '3' }])
  const { rows } = await own.query(`select current_setting('enable_seqscan') as seqscan, current_setting('jit') as jit`)
  expect(rows).toEqual([{ seqscan: 'off', jit: 'off' }])
})

test('behind a pooler nothing has a name, and no setting is left in a session that others use', async () => {
  const pool = poolOf(database.bouncerUrl)
  const own = prepared(pool as never)
  for (const word of ['a', 'b', 'c']) await own.query(`select 'hello ' || $1::text as said`, [word])
  expect((await pool.query(names)).rows).toEqual([])
  expect((await pool.query(`select current_setting('enable_seqscan') as seqscan`)).rows).toEqual([{ seqscan: 'on' }])
})

test('a statement that the server has forgotten, or whose result has changed its shape, is prepared anew', async () => {
  const pool = poolOf(database.url)
  const own = prepared(pool as never)
  await pool.query('create table shapes (a int); insert into shapes values (1)')
  expect((await own.query('select * from shapes')).rows).toEqual([{ a: 1 }])
  await pool.query('deallocate all')
  expect((await own.query('select * from shapes')).rows).toEqual([{ a: 1 }])
  await pool.query('alter table shapes add b int')
  expect((await own.query('select * from shapes')).rows).toEqual([{ a: 1, b: null }])
})

test('an error is told, and the next statement runs on another connection, unless it was about the data', async () => {
  const pool = poolOf(database.url)
  const own = prepared(pool as never)
  const pid = async () => (await own.query('select pg_backend_pid() as pid')).rows[0]?.pid
  const before = await pid()
  await expect(own.query('select 1 / $1::int as n', [0])).rejects.toMatchObject({ code: '22012' })
  expect(await pid()).toBe(before)
  await expect(own.query('select * from not_there')).rejects.toMatchObject({ code: '42P01' })
  expect(await pid()).not.toBe(before)
})

test('statements in a row that the server has forgotten go again in their order, on a connection that nobody uses afterwards', async () => {
  const pool = poolOf(database.url)
  const own = prepared(pool as never)
  await pool.query('create table if not exists steps (n serial, word text)')
  const step = (word: string) => ({
    text: `insert into steps (word) values ($1::text) returning (select string_agg(word, ' ' order by n) from steps) as before`,
    values: [word],
  })
  const later = { text: `select $1::text as word, pg_backend_pid() as pid`, values: ['asked'] }
  const { own: first, theirs } = await own.queryThen([step('a'), step('b')], later)
  expect(first.map(({ rows }) => rows[0]?.before)).toEqual([null, 'a'])
  expect(theirs?.rows[0]).toMatchObject({ word: 'asked' })
  await pool.query('deallocate all')
  const again = await own.queryThen([step('c'), step('d')], later)
  expect(again.own.map(({ rows }) => rows[0]?.before)).toEqual(['a b', 'a b c'])
  // What answered before the others were through says nothing.
  expect(again.theirs).toBeNull()
  const after = await own.queryThen([], later)
  expect(after.theirs?.rows[0]?.pid).not.toBe(theirs?.rows[0]?.pid)
})
