// Truth against view in its three kinds, from what is written down.
import { expect, test } from 'vitest'
import { drift } from '../../../src/operate/drift.ts'
import type { JobStatus } from '../../../src/operate/status.ts'

const queue = { name: 'postgres', shared: true, down: false, unseen: [] }
const at = new Date('2030-01-01T00:00:00Z')
const job = (pending: { count: number; estimated: boolean } | null, more: Partial<JobStatus> = {}): JobStatus =>
  ({
    hints: { due: 3, delayed: 2 },
    intents: 0,
    quarantined: 0,
    unowned: null,
    pause: null,
    sweep: { pushed: 7, dropped: 4, pending: pending && { ...pending, at } },
    ...more,
  }) as JobStatus

test('pending without hint or claim is what the last turn had to push, and what it could not', () => {
  expect(drift(job(null), queue).pendingWithoutHint).toEqual({ pushed: 7, left: 4 })
  expect(drift(job(null, { sweep: null }), queue).pendingWithoutHint).toEqual({ pushed: 0, left: 0 })
  const paused = { job: 'a', reason: '', author: '', since: at, until: null, backlog: null }
  expect(drift(job(null, { pause: paused }), queue).pendingWithoutHint).toEqual({ pushed: 0, left: 0 })
})

test('hints beyond what is pending start nothing; where that is a guess, nobody can tell', () => {
  const beyond = (...given: Parameters<typeof job>) => drift(job(...given), queue).hintsWithoutRow
  expect(beyond({ count: 1, estimated: false })).toBe(4)
  expect(beyond({ count: 5, estimated: false })).toBe(0)
  expect(beyond({ count: 90, estimated: false })).toBe(0)
  expect(beyond({ count: 1, estimated: false }, { intents: 4 })).toBe(1)
  expect(beyond({ count: 5, estimated: false }, { quarantined: 2 })).toBe(2)
  expect(beyond({ count: 1, estimated: true })).toBeNull()
  expect(beyond(null)).toBeNull()
  expect(beyond({ count: 1, estimated: false }, { hints: null })).toBeNull()
  expect(drift(job({ count: 1, estimated: false }), { ...queue, shared: false }).hintsWithoutRow).toBeNull()
})

test('claims without a live owner are counted', () => {
  expect(drift(job(null), queue).claimsWithoutOwner).toBe(0)
  expect(drift(job(null, { unowned: { count: 2, since: at } }), queue).claimsWithoutOwner).toBe(2)
})
