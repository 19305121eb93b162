// A claim numbers keys in their own order, and passes them on in the order of their hints.
import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { readJob } from '../../../src/job/job.ts'
import { claimKeys } from '../../../src/store/claim.ts'
import type { Claim, Ledger, OneTripClaims, TakeAnswer } from '../../../src/store/ledger.ts'
import type { Checked, Source } from '../../../src/store/source.ts'
import { claimHints } from '../../../src/worker/claim.ts'
import { Claims } from '../../../src/worker/held-claims.ts'

const { job } = readJob('a', { pending: { text: 'select 1', values: [] } })
const hints = ['c', 'a', 'd', 'b'].map((key) => ({ job: 'a', key, fresh: true }))

const pendingAll = (keys: readonly string[]): Checked => ({
  paused: false,
  pending: new Map(keys.map((key) => [key, { key, version: '2', waitMs: 0, input: null }])),
})

/** A store that answers so for each key; `check` may fail, `oneTrip` may be offered. */
function scene({
  verdictOf = () => 'taken',
  version = null,
  check = async (keys) => pendingAll(keys),
  takeFails = false,
  oneTrip,
}: {
  verdictOf?: (key: string) => TakeAnswer['verdict']
  version?: string | null
  check?: Source['check']
  takeFails?: boolean
  oneTrip?: OneTripClaims['claim']
} = {}) {
  const taken: Claim[] = []
  const released: Claim[] = []
  const checked: string[] = []
  const ledger = {
    async take(_holder: string, claims: readonly Claim[]) {
      if (takeFails) throw new Error('no answer')
      taken.push(...claims)
      const rest = { waitMs: 0, failures: 0, crashes: 0, version, together: null }
      return claims.map(({ key }) => ({ job: 'a', key, verdict: verdictOf(key), ...rest }))
    },
    async release(_holder: string, claims: readonly Claim[]) {
      released.push(...claims)
    },
    ...(oneTrip && { oneTrip: { claim: oneTrip } }),
  } as unknown as Ledger
  const source = {
    check: async (keys: readonly string[]) => {
      checked.push(...keys)
      return check(keys)
    },
  } as Source
  const claims = new Claims(systemRandom)
  const claim = claimKeys(ledger, (same) => same)
  return {
    claims,
    taken,
    released,
    checked,
    claim: (receipt?: never) => claimHints({ claims, claim }, job, source, hints, receipt),
  }
}

test('numbers ascend with the keys without a gap, and keys start in the order of their hints', async () => {
  const { taken, claim } = scene()
  const { ready } = await claim()
  expect(taken.map(({ key, take }) => [key, take])).toEqual([
    ['a', 1],
    ['b', 2],
    ['c', 3],
    ['d', 4],
  ])
  expect(ready.map(({ key, take }) => [key, take])).toEqual([
    ['c', 3],
    ['a', 1],
    ['d', 4],
    ['b', 2],
  ])
})

test('each hint gets the answer for its own key, and the number of a refused one is forgotten', async () => {
  const { claim, claims, checked } = scene({ verdictOf: (key) => (key === 'd' ? 'running' : 'taken') })
  const { ready, refused } = await claim()
  expect(ready.map(({ key }) => key)).toEqual(['c', 'a', 'b'])
  expect(refused.map(({ hint, why }) => [hint.key, why])).toEqual([['d', 'running']])
  expect(claims.known().takes).toEqual([1, 2, 3])
  expect(checked).toEqual(['a', 'b', 'c'])
})

test('a key that an older version keeps from starting is new work, and is refused no more', async () => {
  const { claim, checked } = scene({ verdictOf: (key) => (key === 'd' ? 'quarantined' : 'taken'), version: '1' })
  const { refused, renewed } = await claim()
  expect([refused, renewed]).toEqual([[], [{ key: 'd', version: '2' }]])
  expect(checked).toContain('d')
})

test('a live key is refused whatever its version is', async () => {
  const { claim } = scene({ verdictOf: () => 'running', version: '1' })
  const { refused, renewed } = await claim()
  expect([refused.length, renewed]).toEqual([4, []])
})

test('when the check fails, what was taken is released and forgotten', async () => {
  const failing = async () => Promise.reject(new Error('no such table'))
  const { claim, claims, released } = scene({ check: failing, verdictOf: (key) => (key === 'd' ? 'running' : 'taken') })
  await expect(claim()).rejects.toThrow('no such table')
  expect(released.map(({ key }) => key)).toEqual(['a', 'b', 'c'])
  expect(claims.known().takes).toEqual([])
})

test('when the take gets no answer, its numbers are forgotten and left to the next beat', async () => {
  const { claim, claims, released } = scene({ takeFails: true })
  await expect(claim()).rejects.toThrow('no answer')
  expect([claims.known().takes, released]).toEqual([[], []])
})

test('one round trip is enough where the store can take and check at once', async () => {
  const oneTrip = async (_: string, __: Source, claims: readonly Claim[]) => ({
    checked: pendingAll(claims.map(({ key }) => key)),
  })
  const { claim, taken, checked } = scene({ oneTrip })
  expect((await claim()).ready.map(({ key }) => key)).toEqual(['c', 'a', 'd', 'b'])
  expect([taken, checked]).toEqual([[], []])
})

test('a check that failed right behind its take is asked again by itself', async () => {
  const { claim, taken, checked } = scene({ oneTrip: async () => ({ checked: null }) })
  expect((await claim()).ready.map(({ key }) => key)).toEqual(['c', 'a', 'd', 'b'])
  expect([taken, checked]).toEqual([[], ['a', 'b', 'c', 'd']])
})

test('where the store cannot tell in one round trip, it takes two', async () => {
  const { claim, taken } = scene({ oneTrip: async () => null })
  expect((await claim()).ready).toHaveLength(4)
  expect(taken).toHaveLength(4)
})

test('a hint that another worker removed first starts nothing, and its number is forgotten', async () => {
  const { claim, claims } = scene({ oneTrip: async () => 'gone' })
  const batch = await claim({} as never)
  expect([...batch.ready, ...batch.refused]).toEqual([])
  expect(claims.known().takes).toEqual([])
})
