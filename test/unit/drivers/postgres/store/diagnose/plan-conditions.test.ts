// The filter of a plan, taken apart at its outermost ANDs, whatever its literals and identifiers hold.
import { expect, test } from 'vitest'
import {
  bare,
  columnsIn,
  conditionsOf,
  needsThePlan,
  shown,
} from '../../../../../../src/drivers/postgres/store/diagnose/plan-conditions.ts'

test.each([
  ["(t.state = 'pending'::text)", ["t.state = 'pending'::text"]],
  ['t.active', ['t.active']],
  ['(t.active AND (NOT t.done))', ['t.active', 'NOT t.done']],
  ["((t.state = 'a'::text) AND (t.tries < 5))", ["t.state = 'a'::text", 't.tries < 5']],
  ["((t.note = 'x AND (y'::text) AND (t.n > 0))", ["t.note = 'x AND (y'::text", 't.n > 0']],
  [`((t."a AND ("" b" = 1) AND (t.n > 0))`, [`t."a AND ("" b" = 1`, 't.n > 0']],
  ['((t.a = 1) OR ((t.b = 2) AND (t.c = 3)))', ['(t.a = 1) OR ((t.b = 2) AND (t.c = 3))']],
  [
    `((t.p = E'it''s \\\\'::text) AND (t.q = ANY ('{a,"b AND c"}'::text[])))`,
    [`t.p = E'it''s \\\\'::text`, `t.q = ANY ('{a,"b AND c"}'::text[])`],
  ],
])('%s has its conditions', (filter, conditions) => {
  expect(conditionsOf(filter)).toEqual(conditions)
})

test('parentheses go only where they hold all of it', () => {
  expect(bare('((a) OR (b))')).toBe('(a) OR (b)')
  expect(bare('(a) OR (b)')).toBe('(a) OR (b)')
  expect(bare(`('(' = t.x)`)).toBe(`'(' = t.x`)
})

test('what only the plan can evaluate is seen, and a literal that looks like it is not', () => {
  expect(needsThePlan('(hashed SubPlan 1)')).toBe(true)
  expect(needsThePlan('t.n > $0')).toBe(true)
  expect(needsThePlan('t.n = (InitPlan 1).col1')).toBe(true)
  expect(needsThePlan("t.note = 'SubPlan $1'::text")).toBe(false)
})

test('people read a condition without the name of its table and without casts of its literals', () => {
  expect(shown("t.state = 'pending'::order_state", 't')).toBe("state = 'pending'")
  expect(shown("t.at < (now() - '01:00:00'::interval)", 't')).toBe("at < (now() - '01:00:00')")
  expect(shown(`"Odd T"."Some thing" = 't.x'::text`, 'Odd T')).toBe(`"Some thing" = 't.x'`)
  expect(shown("t.state = ANY ('{a,b}'::text[])", 't')).toBe("state = ANY ('{a,b}'::text[])")
  expect(columnsIn(`(t.a = 't.b'::text) OR (t.a > t."C d") OR (at.x = 1)`, 't')).toEqual(['a', '"C d"'])
})
