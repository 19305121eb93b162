// The `sql` tag: values are parameters, and lists are one parameter or one for each value.
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../../src/job/sql.ts'

const db = new PGlite()
afterAll(() => db.close())
const rows = async ({ text, values }: { text: string; values: unknown[] }) => (await db.query(text, values)).rows

test('lists take the next free parameters', () => {
  expect(sql`a = ${1} and b = any(${sql.array([2n, 3n])}) and c in ${sql.in(['x', null])} and d = ${true}`).toEqual({
    text: 'a = $1 and b = any($2) and c in ($3, $4) and d = $5',
    values: [1, '{2,3}', 'x', null, true],
  })
  expect(sql`select 1`).toEqual({ text: 'select 1', values: [] })
})

test('a named type is written behind the parameter', () => {
  expect(sql`select unnest(${sql.array([1, 2], 'numeric(10, 2)')})`.text).toBe('select unnest($1::numeric(10, 2)[])')
  expect(sql`select unnest(${sql.array([1], 'double precision')})`.text).toBe('select unnest($1::double precision[])')
})

describe('the database reads the elements as the type they are compared with', () => {
  const uuid = 'b6b2f0a2-2c4f-4a53-9f43-3b3f0c3f6a11'
  const texts = ['a"b', 'c\\d,{}', 'NULL', '']
  beforeAll(() =>
    db.exec(`
      create type state as enum ('new', 'done');
      create table things (big bigint, whole int, amount numeric, id uuid, word text, short varchar(9), flag boolean, day date, state state);
      insert into things values (9007199254740993, 8, 0.1, '${uuid}', 'c\\d,{}', 'c\\d,{}', true, '2026-01-02', 'new');
      insert into things values (1, 1, 1, gen_random_uuid(), 'x', 'x', false, '2026-01-01', 'done')`),
  )

  test.each<[string, ReturnType<typeof sql>, ReturnType<typeof sql>]>([
    ['bigint', sql`big = any(${sql.array([7n, 9007199254740993n])})`, sql`big in ${sql.in([7n, 9007199254740993n])}`],
    ['int', sql`whole = any(${sql.array([7, 8])})`, sql`whole in ${sql.in([7, 8])}`],
    ['numeric', sql`amount = any(${sql.array([0.1, 2])})`, sql`amount in ${sql.in([0.1, 2])}`],
    ['uuid', sql`id = any(${sql.array([uuid])})`, sql`id in ${sql.in([uuid])}`],
    ['text', sql`word = any(${sql.array(texts)})`, sql`word in ${sql.in(texts)}`],
    ['varchar', sql`short = any(${sql.array(texts)})`, sql`short in ${sql.in(texts)}`],
    ['boolean', sql`flag = any(${sql.array([true])})`, sql`flag in ${sql.in([true])}`],
    ['date', sql`day = any(${sql.array(['2026-01-02', null])})`, sql`day in ${sql.in(['2026-01-02', null])}`],
    ['enum', sql`state = any(${sql.array(['new'])})`, sql`state in ${sql.in(['new'])}`],
  ])('%s', async (_, array, list) => {
    for (const { text, values } of [array, list])
      expect(await rows({ text: `select whole from things where ${text}`, values })).toEqual([{ whole: 8 }])
  })
})

test('an empty list is valid SQL that matches nothing', async () => {
  expect(await rows(sql`select 1 as one where 1 = any(${sql.array([])})`)).toEqual([])
  expect(await rows(sql`select 1 as one where 1 in ${sql.in([])}`)).toEqual([])
  expect(await rows(sql`select 1 as one where 1 not in ${sql.in([])}`)).toEqual([])
  expect(await rows(sql`select 1 as one where 1 <> all(${sql.array([])})`)).toEqual([{ one: 1 }])
  expect(await rows(sql`select unnest(${sql.array([], 'bigint')})`)).toEqual([])
})

describe('a list is refused', () => {
  test.each<[string, () => unknown, RegExp]>([
    ['of two kinds', () => sql.array([1, 'a']), /sql\.array was given numbers and texts in one list/],
    ['with an object', () => sql.in([{} as never]), /holds an object/],
    ['with a date', () => sql.in([new Date() as never]), /toISOString/],
    ['with undefined', () => sql.array([undefined as never]), /holds undefined/],
    ['that is a text', () => sql.array('abc' as never), /was given a string/],
    ['that is nothing', () => sql.in(undefined as never), /was given undefined/],
    ['of a type that is more than a name', () => sql.array([1], 'int[]; drop table x; --'), /not the name of a type/],
  ])('%s', (_, make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: 'bad_parameter', message: expect.stringMatching(message) }))
  })

  test('with more values than a statement has parameters', () => {
    const many = Array.from({ length: 65_536 }, (_, i) => i)
    expect(() => sql`select 1 where 1 in ${sql.in(many)}`).toThrow(/65536 parameters.*sql\.array/s)
    expect(sql`select 1 where 1 = any(${sql.array(many)})`.values).toHaveLength(1)
  })
})
