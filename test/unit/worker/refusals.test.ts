// What follows from a hint that starts nothing, verdict by verdict.
import { expect, test } from 'vitest'
import type { Verdict } from '../../../src/job/event-map.ts'
import { readJob } from '../../../src/job/job.ts'
import { sql } from '../../../src/job/sql.ts'
import { react } from '../../../src/worker/refusals.ts'

const job = (uniqueUntil: 'start' | 'success') => readJob('a', { pending: sql`select id from t`, uniqueUntil }).job

test.each<[Verdict, boolean, 'start' | 'success', 'dropped' | 'looked at again' | [delayMs: number, fresh: boolean]]>([
  ['live', true, 'start', [1_000, true]],
  ['live', false, 'start', 'dropped'],
  ['live', true, 'success', 'dropped'],
  ['live', false, 'success', 'dropped'],
  ['later', true, 'start', [700, false]],
  ['later', false, 'start', [700, false]],
  ['later', true, 'success', [700, false]],
  ['not pending', true, 'start', 'looked at again'],
  ['not pending', false, 'start', 'dropped'],
  ['paused', true, 'start', 'dropped'],
  ['quarantined', true, 'start', 'dropped'],
  ['gone', true, 'start', [1_000, true]],
  ['gone', false, 'start', [1_000, false]],
])('%s (fresh: %s, unique until %s): %j', (why, fresh, uniqueUntil, expected) => {
  const hint = { job: 'a', key: 'k', fresh }
  const reaction = react(job(uniqueUntil), [{ hint, why, waitMs: 700, ledgerVersion: null }])
  expect(reaction.lookAgain).toEqual(expected === 'looked at again' ? [hint] : [])
  expect(reaction.push).toEqual(
    Array.isArray(expected) ? [{ job: 'a', key: 'k', delayMs: expected[0], fresh: expected[1] }] : [],
  )
})

test('what the next sweep would hint in time is left to that sweep', () => {
  const { job } = readJob('a', { pending: sql`select id from t`, sweep: { every: '1m' } })
  const reaction = react(
    job,
    // A sweep may come a tenth later than its interval, and takes a moment.
    [66_000, 73_000, 73_001, 365 * 86_400_000].map((waitMs, i) => ({
      hint: { job: 'a', key: `k${i}`, fresh: true },
      why: 'later' as const,
      waitMs,
      ledgerVersion: null,
    })),
  )
  expect(reaction.push.map(({ key }) => key)).toEqual(['k0', 'k1'])
})
