// BEGIN travels with the first statement of a transaction: its answer is that of the statement, and nothing runs without it.
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { transaction } from '../../src/drivers/postgres/client/transaction.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let pool: pg.Pool
beforeAll(async () => {
  database = await freshDatabase('first')
  pool = new pg.Pool({ connectionString: database.url, max: 2 })
  await pool.query('create table effects (id int primary key)')
})
beforeEach(() => pool.query('truncate effects'))
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const within = <T>(fn: (own: pg.PoolClient) => Promise<T>) =>
  transaction(pool as never, (_, own) => fn(own as unknown as pg.PoolClient))
const ids = async () => (await pool.query('select id from effects order by id')).rows.map(({ id }) => id)
/** Whether two statements saw the same transaction. */
const xid = 'select pg_current_xact_id()::text as xid'

test('the answer is that of the statement alone, whatever its form', async () => {
  const forms = [
    (own: pg.PoolClient) => own.query('select $1::int as n', [7]),
    (own: pg.PoolClient) => own.query({ text: 'select $1::int as n', values: [7] }),
    (own: pg.PoolClient) => own.query({ text: 'select $1::int as n' }, [7]),
    (own: pg.PoolClient) => own.query({ name: 'named', text: 'select $1::int as n', values: [7] }),
    (own: pg.PoolClient) => own.query('select 7 as n'),
  ]
  for (const form of forms) {
    const answer = await within(form)
    expect(Array.isArray(answer)).toBe(false)
    expect(answer).toMatchObject({ command: 'SELECT', rowCount: 1, rows: [{ n: 7 }] })
    expect(answer.fields.map(({ name }) => name)).toEqual(['n'])
  }
  const array = await within((own) => own.query({ text: 'select $1::int as n', values: [7], rowMode: 'array' }))
  expect(array.rows).toEqual([[7]])
  const inserted = await within((own) => own.query('insert into effects values ($1)', [1]))
  expect(inserted).toMatchObject({ command: 'INSERT', rowCount: 1, rows: [] })
  expect(await ids()).toEqual([1])
})

test('the statements after it are in the same transaction, also those that did not wait for it', async () => {
  const seen = await within(async (own) => {
    await own.query('insert into effects values ($1)', [1])
    const answers = await Promise.all([
      own.query(xid),
      own.query('insert into effects values ($1)', [2]),
      own.query(xid),
    ])
    return [answers[0].rows[0].xid, answers[2].rows[0].xid]
  })
  expect(seen[0]).toBe(seen[1])
  const unawaited = within(async (own) => {
    const first = own.query('insert into effects values ($1)', [3])
    const second = own.query('insert into effects values ($1)', [4])
    await Promise.all([first, second])
    throw new Error('undone')
  })
  await expect(unawaited).rejects.toThrow('undone')
  expect(await ids()).toEqual([1, 2])
})

test.each([
  ['with values', (own: pg.PoolClient) => own.query('insert into effects values ($1)', [5])],
  ['without', (own: pg.PoolClient) => own.query('insert into effects values (5)')],
  [
    'by a callback',
    (own: pg.PoolClient) => new Promise((resolve) => own.query('insert into effects values (5)', resolve as never)),
  ],
])('what a statement %s did is undone when the transaction fails', async (_, send) => {
  const failing = within(async (own) => {
    await send(own)
    throw new Error('undone')
  })
  await expect(failing).rejects.toThrow('undone')
  expect(await ids()).toEqual([])
})

test('a first statement that fails tells its own error and where it came from, and the connection goes on', async () => {
  const wrong = within(async (own) => await own.query('select 1 / $1::int', [0]))
  await expect(wrong).rejects.toMatchObject({ code: '22012', stack: expect.stringContaining('first-statement.test') })
  const caught = within(async (own) => {
    await own.query('select 1 / $1::int', [0]).catch(() => {})
    await own.query('insert into effects values ($1)', [6])
  })
  await expect(caught).rejects.toMatchObject({ code: 'rolled_back', cause: { code: '22012' } })
  await within((own) => own.query('insert into effects values ($1)', [7]))
  expect(await ids()).toEqual([7])
})

test('values that cannot be written fail by themselves', async () => {
  const bad = {
    toPostgres: () => {
      throw new Error('no value')
    },
  }
  await expect(within((own) => own.query('select $1::int', [bad]))).rejects.toThrow('no value')
  await within((own) => own.query('insert into effects values ($1)', [8]))
  expect(await ids()).toEqual([8])
})

test('a transaction without a statement begins none', async () => {
  expect(await within(async () => 'nothing')).toBe('nothing')
  await expect(within(async () => Promise.reject(new Error('nothing done')))).rejects.toThrow('nothing done')
})

test('a statement by name takes BEGIN along, is parsed once, and one that could not be parsed is not taken for known', async () => {
  const named = (own: pg.PoolClient, text: string, values?: unknown[]) =>
    own.query({ name: 'effect', text, ...(values ? { values } : {}) })
  const times = `select generic_plans + custom_plans as times from pg_prepared_statements where name = 'effect'`
  const one = new pg.Pool({ connectionString: database.url, max: 1 })
  const alone = <T>(fn: (own: pg.PoolClient) => Promise<T>) =>
    transaction(one as never, (_, own) => fn(own as unknown as pg.PoolClient))
  try {
    await expect(alone((own) => named(own, 'insert into nowhere values ($1)', [1]))).rejects.toMatchObject({
      code: '42P01',
    })
    for (const id of [11, 12]) await alone((own) => named(own, 'insert into effects values ($1)', [id]))
    expect(await ids()).toEqual([11, 12])
    expect((await one.query(times)).rows).toEqual([{ times: '2' }])
    await expect(alone((own) => named(own, 'insert into effects values (13)'))).rejects.toThrow('must be unique')
    const undone = alone(async (own) => {
      await named(own, 'insert into effects values ($1)', [14])
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await ids()).toEqual([11, 12])
    await alone((own) => own.query({ name: 'none', text: 'insert into effects values (15)' }))
    expect(await ids()).toEqual([11, 12, 15])
  } finally {
    await one.end()
  }
})
