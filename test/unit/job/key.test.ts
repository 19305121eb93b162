// Keys are canonical text from end to end: key out = key in, byte for byte.
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type KeyShape, keyBytesMax, keyCodec } from '../../../src/job/key.ts'

/** Text that Postgres can hold, in at most 200 characters of up to four bytes. */
const text = fc
  .string({ unit: 'binary', maxLength: 200 })
  .filter((value) => !value.includes('\0') && value.isWellFormed())
const scalars = {
  text,
  int: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  bigint: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uuid: fc.uuid(),
}

type Case = [shape: KeyShape, value: unknown, expected: string]
/** Cases with a title: test titles cannot hold a bigint. */
const named = (cases: Case[]) =>
  cases.map(([shape, value, expected]) => [`${inspect(shape)} ${inspect(value)}`, expected, shape, value] as const)

describe('what was encoded is decoded to the same, and encodes to the same text again', () => {
  const composite = { tenant: 'uuid', 'a "b"': 'text', n: 'bigint', small: 'int' } as const
  const cases: [KeyShape, fc.Arbitrary<unknown>][] = [
    ['text', scalars.text],
    ['int', scalars.int],
    ['bigint', scalars.bigint],
    ['uuid', scalars.uuid],
    [composite, fc.record({ tenant: scalars.uuid, 'a "b"': scalars.text, n: scalars.bigint, small: scalars.int })],
  ]
  test.each(cases.map(([shape, values]) => [inspect(shape), shape, values] as const))('%s', (_, shape, values) => {
    const codec = keyCodec(shape)
    fc.assert(
      fc.property(values, (value) => {
        const encoded = codec.encode(value)
        expect(codec.decode(encoded)).toEqual(value)
        expect(codec.encode(codec.decode(encoded))).toBe(encoded)
        expect(codec.join(codec.split(encoded))).toBe(encoded)
      }),
    )
  })

  test('keys of a composite key are the same text only when they are the same', () => {
    const codec = keyCodec({ a: 'text', b: 'text' })
    const pair = fc.record({ a: text, b: text })
    fc.assert(
      fc.property(pair, pair, (one, two) => {
        expect(codec.encode(one) === codec.encode(two)).toBe(one.a === two.a && one.b === two.b)
      }),
    )
  })
})

describe('a value has one text, however it is written', () => {
  const uuid = '0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'
  const cases: Case[] = [
    ['int', '007', '7'],
    ['int', '+7', '7'],
    ['int', '-0', '0'],
    ['int', -0, '0'],
    ['int', 7n, '7'],
    ['int', 2_147_483_647, '2147483647'],
    ['int', '-2147483648', '-2147483648'],
    ['bigint', 7, '7'],
    ['bigint', '9223372036854775807', '9223372036854775807'],
    ['bigint', -9223372036854775808n, '-9223372036854775808'],
    ['bigint', Number.MAX_SAFE_INTEGER, '9007199254740991'],
    ['uuid', uuid.toUpperCase(), uuid],
    ['uuid', `{${uuid}}`, uuid],
    ['uuid', uuid.replaceAll('-', ''), uuid],
    ['text', '', ''],
    ['text', ' a ', ' a '],
    ['text', 'Ä😀\u2028\n\\"', 'Ä😀\u2028\n\\"'],
    [{ b: 'int', a: 'text' }, { a: 'x"y', b: '007' }, '["7","x\\"y"]'],
  ]
  test.each(named(cases))('%s is %j', (_, expected, shape, value) => {
    expect(keyCodec(shape).encode(value)).toBe(expected)
  })
})

describe('what is no such key is refused with what was expected and found', () => {
  const cases: Case[] = [
    ['text', 7, 'Expected a key of type text, found 7'],
    ['text', null, 'Expected a key of type text, found null'],
    ['text', undefined, 'Expected a key of type text, found undefined'],
    ['text', 'a\0b', 'text without NUL and lone surrogates'],
    ['text', 'a\uD800', 'text without NUL and lone surrogates'],
    ['text', '\uDC00b', 'text without NUL and lone surrogates'],
    ['int', 1.5, 'use a bigint or text'],
    ['int', Number.NaN, 'a whole number'],
    ['int', '', 'a whole number'],
    ['int', ' 7', 'a whole number'],
    ['int', '0x7', 'a whole number'],
    ['int', '7n', 'a whole number'],
    ['int', true, 'a whole number'],
    ['int', 2_147_483_648, 'int from -2147483648 to 2147483647'],
    ['int', '-2147483649', 'int from -2147483648 to 2147483647'],
    ['bigint', 2 ** 53, 'that a JS number can hold; use a bigint or text'],
    ['bigint', 9223372036854775808n, 'found 9223372036854775808n'],
    ['bigint', '-9223372036854775809', 'bigint from -9223372036854775808 to 9223372036854775807'],
    ['uuid', 'not one', 'Expected a key of type uuid, found "not one"'],
    ['uuid', '0197a1b2c3d47e5f8a9b0c1d2e3f4a5', 'Expected a key of type uuid'],
    [{ a: 'int', b: 'text' }, 'x', 'an object with a, b'],
    [{ a: 'int', b: 'text' }, { a: 1 }, 'text in "b"'],
    [{ a: 'int', b: 'text' }, { a: 'x', b: 'y' }, 'int in "a"'],
  ]
  test.each(named(cases))('%s: %s', (_, sentence, shape, value) => {
    expect(() => keyCodec(shape).encode(value)).toThrow(
      expect.objectContaining({ code: 'bad_key', message: expect.stringContaining(sentence) }),
    )
  })

  test.each(['x', '{}', '[]', '["1"]', '["1","a","b"]', '[1,"a"]', '["x","a"]'])(
    'the text %j is no key of two columns',
    (foreign) => {
      expect(() => keyCodec({ a: 'int', b: 'text' }).decode(foreign)).toThrow(
        expect.objectContaining({ code: 'bad_key' }),
      )
    },
  )
})

describe('a key has 1 KiB at most, counted in bytes', () => {
  test.each<[KeyShape, (n: number) => unknown, number]>([
    ['text', (n) => 'a'.repeat(n), keyBytesMax],
    ['text', (n) => 'ä'.repeat(n), keyBytesMax / 2],
    [{ a: 'text', b: 'int' }, (n) => ({ a: 'x'.repeat(n), b: 1 }), keyBytesMax - '["","1"]'.length],
  ])('%j', (shape, make, most) => {
    const codec = keyCodec(shape)
    expect(Buffer.byteLength(codec.encode(make(most)))).toBe(1024)
    expect(() => codec.encode(make(most + 1))).toThrow(
      expect.objectContaining({
        code: 'key_too_long',
        message: expect.stringMatching(/may have 1024 bytes, this one has 102[56]/),
      }),
    )
  })
})
