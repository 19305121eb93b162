// The text of anything thrown can be told, also of what was made to resist.
import { expect, test } from 'vitest'
import { messageOf, RegrowError } from '../../../src/base/errors.ts'

test('an error says what was found and what to do, and keeps its cause', () => {
  const cause = new Error('deep')
  const error = new RegrowError('a_word', 'Found a thing', 'Do another', cause)
  expect(error).toMatchObject({ name: 'RegrowError', code: 'a_word', hint: 'Do another', cause })
  expect(error.message).toBe('Found a thing\n  → Do another')
})

const resisting = () =>
  Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('no message for you')
    },
  })

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

test.each<[what: string, thrown: () => unknown, message: string]>([
  ['an error', () => new Error('plain'), 'plain'],
  ['a text', () => 'text', 'text'],
  ['nothing', () => undefined, 'undefined'],
  ['an object', () => ({ a: 1 }), '[object Object]'],
  ['an object without a prototype', () => Object.create(null), '[object Object]'],
  ['an error whose message throws', resisting, 'Error'],
  ['an error without a message', () => new TypeError(), 'TypeError'],
  ['one that has a code only', () => Object.assign(new Error(), { code: 'EPIPE' }), 'EPIPE'],
  ['an aggregate without a message', () => new AggregateError([new Error('a'), 'b', new Error('')]), 'a; b'],
  ['a proxy that was revoked', revoked, 'object'],
  ['a symbol', () => Symbol('s'), 'Symbol(s)'],
])('a message is found in %s', (_, thrown, message) => {
  expect(messageOf(thrown())).toBe(message)
})
