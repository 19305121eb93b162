// What the slow audit decides of a page of ledger rows.
import { expect, test } from 'vitest'
import type { AuditRow } from '../../../src/store/ledger-audit.ts'
import { decideAudit } from '../../../src/sweep/ledger-audit.ts'

const hour = 3_600_000
const row = (key: string, how: Partial<AuditRow> = {}): AuditRow => ({
  key,
  waiting: true,
  idleMs: 25 * hour,
  unseenMs: 2 * hour,
  ...how,
})
/** Rows that the audit leaves alone, so that the others are less than half. */
const bystanders = Array.from({ length: 10 }, (_, i) => row(`b${i}`, { waiting: false }))
const nothing = { forget: [], unseen: [], seen: [], kept: 0 }
const never = () => false

test('a key that is not pending is noted first, and forgotten by a later audit', () => {
  expect(decideAudit([row('a', { unseenMs: null }), ...bystanders], never)).toEqual({ ...nothing, unseen: ['a'] })
  expect(decideAudit([row('a'), ...bystanders], never)).toEqual({ ...nothing, forget: ['a'] })
})

test.each([
  ['it changed within a day', { idleMs: 23 * hour }],
  ['it is held, or quarantined', { waiting: false }],
  ['the last audit was less than an hour ago', { unseenMs: hour / 2 }],
])('it is left alone when %s', (_, how) => {
  expect(decideAudit([row('a', how), ...bystanders], never)).toEqual(nothing)
})

test('a key that is pending again is seen, and one that always was is left alone', () => {
  const rows = [row('a'), row('b', { unseenMs: null }), ...bystanders]
  expect(decideAudit(rows, () => true)).toEqual({ ...nothing, seen: ['a'] })
})

test('never more than half of a job’s rows go at once', () => {
  const rows = Array.from({ length: 9 }, (_, i) => row(`k${i}`))
  expect(decideAudit(rows, never)).toEqual({ ...nothing, forget: ['k0', 'k1', 'k2', 'k3'], kept: 5 })
  expect(decideAudit(rows.slice(0, 1), never)).toEqual({ ...nothing, kept: 1 })
})
