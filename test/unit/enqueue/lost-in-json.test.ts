// What JSON would drop or change without a word is found, and everything that JSON holds is not.
import { describe, expect, test } from 'vitest'
import { lostInJson } from '../../../src/enqueue/lost-in-json.ts'

class Point {
  x = 1
}
class Hidden {
  #x = 1
  get x() {
    return this.#x
  }
}

describe('lost', () => {
  test.each<[string, unknown, string]>([
    ['a function', () => {}, ' is a function'],
    ['a symbol', Symbol('x'), ' is a symbol'],
    ['a function inside', { on: { end() {} } }, '.on.end is a function'],
    ['a symbol in an array', { list: [1, Symbol('x')] }, '.list[1] is a symbol'],
    ['a Map', new Map([[1, 2]]), ' is a Map'],
    ['a Set inside', { tags: new Set(['a']) }, '.tags is a Set'],
    ['a promise that was not awaited', { user: Promise.resolve(1) }, '.user is a Promise'],
    ['a regular expression', { match: /x/ }, '.match is a RegExp'],
    ['bytes', new Uint8Array([1, 2]), ' is an Uint8Array'],
    ['a buffer of bytes', new ArrayBuffer(2), ' is an ArrayBuffer'],
    ['an error', Object.assign(new TypeError('x'), { code: 'E' }), ' is a TypeError'],
    ['parameters of an address', new URLSearchParams('a=1'), ' is an URLSearchParams'],
    ['an object that hides its fields', new Hidden(), ' is a Hidden'],
    ['no number', { at: Number.NaN }, '.at is NaN'],
    ['more than every number', [Number.POSITIVE_INFINITY], '[0] is Infinity'],
  ])('%s', (_, value, where) => {
    expect(lostInJson(value)).toBe(where)
  })
})

describe('held', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['nothing', undefined],
    ['a text', 'x'],
    ['a number', 1.5],
    ['an empty object', {}],
    ['an object without a prototype', Object.create(null)],
    ['an object of another realm', (globalThis as { eval(text: string): unknown }).eval('({ a: [1] })')],
    ['a property that is undefined', { a: undefined }],
    ['a date', { at: new Date() }],
    ['an address', new URL('https://example.org')],
    ['bytes that say how they are written', Buffer.from('x')],
    ['an instance with fields', new Point()],
    ['a boxed number', new Number(5)],
    ['arrays in arrays', [[], [[1, null, true]]]],
  ])('%s', (_, value) => {
    expect(lostInJson(value)).toBeUndefined()
  })
})
