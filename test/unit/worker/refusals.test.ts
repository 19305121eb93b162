// What follows from a hint that starts nothing, verdict by verdict.
import { expect, test } from 'vitest'
import type { RefusalReason } from '../../../src/job/event-map.ts'
import { readJob } from '../../../src/job/job.ts'
import { sql } from '../../../src/job/sql.ts'
import { react } from '../../../src/worker/refusals.ts'

const job = (uniqueUntil: 'start' | 'success') => readJob('a', { pending: sql`select id from t`, uniqueUntil }).job

test.each<
  [RefusalReason, boolean, 'start' | 'success', 'dropped' | 'looked at again' | [delayMs: number, fresh: boolean]]
>([
  ['running', true, 'start', [1_000, true]],
  ['running', false, 'start', 'dropped'],
  ['running', true, 'success', 'dropped'],
  ['running', false, 'success', 'dropped'],
  ['not_due', true, 'start', [700, false]],
  ['not_due', false, 'start', [700, false]],
  ['not_due', true, 'success', [700, false]],
  ['not_pending', true, 'start', 'looked at again'],
  ['not_pending', false, 'start', 'dropped'],
  ['paused', true, 'start', 'dropped'],
  ['quarantined', true, 'start', 'dropped'],
  ['lease_lost', true, 'start', [1_000, true]],
  ['lease_lost', false, 'start', [1_000, false]],
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
      why: 'not_due' as const,
      waitMs,
      ledgerVersion: null,
    })),
  )
  expect(reaction.push.map(({ key }) => key)).toEqual(['k0', 'k1'])
})
