// The take numbers keys in their own order, and hands them on in that of their hints.
import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { readJob } from '../../../src/job/job.ts'
import type { Claim, Ledger, TakeAnswer } from '../../../src/store/ledger.ts'
import { Claims } from '../../../src/worker/held-claims.ts'
import { take } from '../../../src/worker/take.ts'

const { job } = readJob('a', { pending: { text: 'select 1', values: [] } })
const hints = ['c', 'a', 'd', 'b'].map((key) => ({ job: 'a', key, fresh: true }))

/** A ledger that answers so for each key, in the order in which it is asked. */
function answering(verdictOf: (key: string) => TakeAnswer['verdict']) {
  const asked: Claim[] = []
  const ledger: Pick<Ledger, 'take'> = {
    take: async (_holder, claims) => {
      asked.push(...claims)
      return claims.map(({ key }) => ({
        job: 'a',
        key,
        verdict: verdictOf(key),
        waitMs: 0,
        failures: 0,
        crashes: 0,
        version: null,
        together: null,
      }))
    },
  }
  return { asked, ledger: ledger as Ledger }
}

test('numbers grow with the keys, without a gap, and keys start in the order of their hints', async () => {
  const { asked, ledger } = answering(() => 'taken')
  const { taken } = await take({ ledger, claims: new Claims(systemRandom), source: null }, job, hints)
  expect(asked.map(({ key, take }) => [key, take])).toEqual([
    ['a', 1],
    ['b', 2],
    ['c', 3],
    ['d', 4],
  ])
  expect(taken.map(({ key, take }) => [key, take])).toEqual([
    ['c', 3],
    ['a', 1],
    ['d', 4],
    ['b', 2],
  ])
})

test('each hint gets the answer of its own key, and the number of one that was refused is forgotten', async () => {
  const { ledger } = answering((key) => (key === 'd' ? 'live' : 'taken'))
  const claims = new Claims(systemRandom)
  const { taken, refused } = await take({ ledger, claims, source: null }, job, hints)
  expect(taken.map(({ key }) => key)).toEqual(['c', 'a', 'b'])
  expect(refused.map(({ hint, why }) => [hint.key, why])).toEqual([['d', 'live']])
  expect(claims.known().takes).toEqual([1, 2, 3])
})
