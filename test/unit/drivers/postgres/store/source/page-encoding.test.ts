// A page as one row: what a list of keys with marks says, for keys that need no quotes and for those that do.
import { expect, test } from 'vitest'
import { pageOf } from '../../../../../../src/drivers/postgres/store/source/page-encoding.ts'
import { keyCodec } from '../../../../../../src/job/key.ts'

const plain = (key: string) => ({ key, version: null, waitMs: 0, renewed: false })

test.each([
  ['int', '1,!2,3', ['1', '3'], '3'],
  ['bigint', '!-1,5,!7', ['5'], '7'],
  ['uuid', '!018f0000-0000-7000-8000-000000000001', [], '018f0000-0000-7000-8000-000000000001'],
  ['text', '"a,b",["!c"],"!d"', ['a,b', '!d'], '!d'],
  ['text', '"",["[\\"x\\"]"]', [''], '["x"]'],
  [{ tenant: 'int', name: 'text' }, '"[\\"1\\",\\"a\\"]"', ['["1","a"]'], '["1","a"]'],
] as const)('keys of type %j listed as %s', (shape, keys, eligible, last) => {
  const row = { scanned: 3, oldest_ms: null, keys, facts: null }
  expect(pageOf(keyCodec(shape), row)).toEqual({ scanned: 3, last, oldestMs: null, rows: eligible.map(plain) })
})

test('rows with facts have them, and an empty page has neither rows nor an end', () => {
  const facts = '[["2","v1",40,true]]'
  const page = pageOf(keyCodec('int'), { scanned: '2', oldest_ms: '-3', keys: '1,2', facts })
  expect(page).toEqual({
    scanned: 2,
    last: '2',
    oldestMs: 0,
    rows: [plain('1'), { key: '2', version: 'v1', waitMs: 40, renewed: true }],
  })
  const empty = { scanned: 0, last: null, oldestMs: null, rows: [] }
  expect(pageOf(keyCodec('text'), { scanned: 0, oldest_ms: null, keys: null, facts: null })).toEqual(empty)
})

test('rows that cannot be keys are none of the rows, and the cursor can stand on one of them', () => {
  const long = 'x'.repeat(2_000)
  const row = { scanned: 4, oldest_ms: null, keys: 'null,"a",["b"],null', unusable_key: long, facts: null }
  expect(pageOf(keyCodec('text'), row)).toEqual({
    scanned: 4,
    last: long,
    oldestMs: null,
    rows: [plain('a')],
    unusable: { count: 2, key: 'x'.repeat(60), before: [0, 1] },
  })
})
