// Conditions as Postgres prints them, and what each is to an index.
import { describe, expect, test } from 'vitest'
import {
  conjuncts,
  joinedColumns,
  judge,
  mentioned,
  sameCondition,
} from '../../../../../../src/drivers/postgres/store/diagnose/condition.ts'

const columns = {
  id: 'bigint',
  state: 'text',
  kind: 'character varying',
  step: 'step',
  at: 'timestamp with time zone',
  held: 'boolean',
  tries: 'integer',
  data: 'jsonb',
  'Odd Name': 'text',
}

describe('a condition is taken apart where all of its parts have to hold:', () => {
  test.each([
    ['(o.a = 1)', ['o.a = 1']],
    ['((o.a = 1) AND (o.b = 2))', ['o.a = 1', 'o.b = 2']],
    ['((o.a = 1) AND ((o.b = 2) AND (o.c = 3)))', ['o.a = 1', 'o.b = 2', 'o.c = 3']],
    ['((o.a = 1) OR (o.b = 2))', ['(o.a = 1) OR (o.b = 2)']],
    ["(o.a = 'x) AND (y'::text)", ["o.a = 'x) AND (y'::text"]],
    ["((o.a = 'it''s AND (so'::text) AND o.held)", ["o.a = 'it''s AND (so'::text", 'o.held']],
    ['o.held', ['o.held']],
  ])('%s', (text, parts) => {
    expect(conjuncts(text)).toEqual(parts)
  })
})

describe('always the same, so it may be the condition of an index:', () => {
  test.each([
    ["(o.state = 'pending'::text)", "state = 'pending'"],
    ["((o.kind)::text = 'a'::text)", "kind = 'a'"],
    ["((o.kind)::text <> 'a'::text)", "kind <> 'a'"],
    ["(o.step = 'new'::step)", "step = 'new'"],
    ["(o.step = 'new'::app.step)", "step = 'new'"],
    ["((o.kind)::text = ANY ('{a,b}'::text[]))", "(kind)::text = ANY ('{a,b}'::text[])"],
    ["(o.state = ANY ('{a,b}'::text[]))", "state = ANY ('{a,b}'::text[])"],
    ['(o.at IS NULL)', 'at IS NULL'],
    ['(NOT o.held)', 'NOT held'],
    ['o.held', 'held'],
    ['(o.tries < 5)', 'tries < 5'],
    ["((o.state = 'a'::text) OR (o.tries > 3))", "(state = 'a'::text) OR (tries > 3)"],
    ["(lower(o.state) = 'new'::text)", "lower(state) = 'new'::text"],
    ['(o.held IS TRUE)', 'held IS TRUE'],
    [`(o.data @> '{"s": "new"}'::jsonb)`, `data @> '{"s": "new"}'::jsonb`],
    ["(o.state ~ '^n'::text)", "state ~ '^n'::text"],
    ["((o.data ->> 'state'::text) = 'new'::text)", "(data ->> 'state'::text) = 'new'::text"],
    [`(o."Odd Name" = 'now() o.x'::text)`, `"Odd Name" = 'now() o.x'`],
  ])('%s', (text, printed) => {
    expect(judge(text, 'o', columns)).toEqual({ kind: 'fixed', text: printed })
  })
})

describe('against a time that moves: the column may be in an index, the condition not:', () => {
  test.each([
    '(o.at <= now())',
    "(o.at <= (now() + '00:10:00'::interval))",
    '(o.at < CURRENT_TIMESTAMP)',
    '(LOCALTIMESTAMP > o.at)',
    '((o.at IS NULL) OR (o.at <= clock_timestamp()))',
    // A date that was bound this time is another one the next time.
    "(o.at < '2026-11-16 16:00:00+00'::timestamp with time zone)",
  ])('%s', (text) => {
    expect(judge(text, 'o', columns)).toMatchObject({ kind: 'moving', column: 'at' })
  })
})

describe('what another table or a parameter says: the column is looked up:', () => {
  test.each([
    ['(o.id = u.order_id)', 'id'],
    ['(u.order_id = o.id)', 'id'],
    ['(o.id = $0)', 'id'],
    ['((o.kind)::text = u.kind)', 'kind'],
  ])('%s', (text, column) => {
    expect(judge(text, 'o', columns)).toEqual({ kind: 'lookup', column })
  })
})

describe('what is not understood is left out:', () => {
  test.each([
    "(reverse(o.state) = 'new'::text)",
    // What is computed from a column no index of that column finds.
    '(COALESCE(o.at, now()) <= now())',
    '((o.at)::date <= CURRENT_DATE)',
    "((o.at + '01:00:00'::interval) < now())",
    "(app.shown(o.state) = 'new'::text)",
    '(NOT (SubPlan 1))',
    // The text of an enum may change with a rename.
    "((o.step)::text = 'new'::text)",
    '(o.tries < u.most)',
    '((o.tries + 1) < 5)',
    '(o.tries < $1)',
  ])('%s', (text) => {
    expect(judge(text, 'o', columns).kind).toBe('other')
  })
})

test('what is left out is told as it was written, with the casts that matter', () => {
  expect(judge("((o.step)::text = 'new'::text)", 'o', columns)).toEqual({
    kind: 'other',
    text: "(step)::text = 'new'::text",
  })
  expect(judge('(NOT (hashed SubPlan 2))', 'o', columns)).toEqual({ kind: 'other', text: 'a subquery' })
})

test('columns of another table that has a similar name are not ours', () => {
  expect(mentioned('((foo.o = o.id) AND (o_1.state = o.state))', 'o')).toEqual({ own: ['id', 'state'], foreign: true })
  expect(mentioned(`("My Table".id = 1)`, 'My Table')).toEqual({ own: ['id'], foreign: false })
  expect(joinedColumns('((o.id = u.order_id) AND (u.kind = o.kind))', 'u')).toEqual(['order_id', 'kind'])
})

test('conditions that differ in casts and parentheses only are the same', () => {
  expect(sameCondition("((state)::text = 'a'::text)", "state = 'a'")).toBe(true)
  expect(sameCondition("(state = 'a'::text)", "state = 'b'")).toBe(false)
  expect(sameCondition(null, null)).toBe(true)
  expect(sameCondition(null, "state = 'a'")).toBe(false)
})
