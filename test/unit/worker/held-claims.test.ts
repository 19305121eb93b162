// What a process holds: take numbers are never reused, and a lease is sure only while beats are confirmed.
import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { Claims } from '../../../src/worker/held-claims.ts'

test('take numbers only grow, also after a new identity', () => {
  const claims = new Claims(systemRandom)
  const before = [claims.next(), claims.next()]
  claims.renew(new Error('gone'))
  expect([...before, claims.next()]).toEqual([1, 2, 3])
})

test('a holder is 128 random bits, and another one after it was declared dead', () => {
  const claims = new Claims(systemRandom)
  const { holder } = claims
  expect(holder).toMatch(/^[0-9a-f]{32}$/)
  claims.renew(new Error('gone'))
  expect(claims.holder).toMatch(/^[0-9a-f]{32}$/)
  expect(claims.holder).not.toBe(holder)
})

test('what is awaited or running is known until it is forgotten', () => {
  const claims = new Claims(systemRandom)
  const [one, two] = [claims.next(), claims.next()]
  claims.watch(two, { abort: () => {} })
  expect(claims.known()).toEqual({ takes: [one, two], highest: 2 })
  claims.forget(one)
  expect(claims.known()).toEqual({ takes: [two], highest: 2 })
})

test('a worker that is gone aborts what it runs and knows nothing any more', () => {
  const claims = new Claims(systemRandom)
  const reasons: Error[] = []
  const take = claims.next()
  claims.watch(take, { abort: (reason) => reasons.push(reason) })
  expect(claims.holds(take)).toBe(true)
  const gone = new Error('gone')
  claims.renew(gone)
  expect(reasons).toEqual([gone])
  expect(claims.holds(take)).toBe(false)
  expect(claims.known().takes).toEqual([])
})

test('a lease is sure until four fifths of it have passed since the last confirmed beat was sent', () => {
  const claims = new Claims(systemRandom)
  expect(claims.sure(0, 1_000)).toBe(false)
  claims.confirmed(500)
  expect([claims.sure(1_299, 1_000), claims.sure(1_300, 1_000)]).toEqual([true, false])
  claims.renew(new Error('gone'))
  expect(claims.sure(501, 1_000)).toBe(false)
})
