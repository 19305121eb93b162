// A jitter is no lateness: who begins each slot when it is due skips none of them, however long the jitter is.
import { expect, test } from 'vitest'
import { pattern } from '../../../src/schedule/pattern.ts'
import { begin } from '../../../src/schedule/plan.ts'
import type { OpenSlot } from '../../../src/store/schedules.ts'
import { seededRandom } from '../../sim/seeded-random.ts'
import { scheduleRow } from './schedule-row.ts'

const keyOf = (slotMs: number) => `s@1@${new Date(slotMs).toISOString()}`
const first = (slotMs: number, dueMs: number): OpenSlot => ({
  ...{ slotMs, dueMs, key: keyOf(slotMs), held: false, begunMs: null, standing: null },
})

const rowOf = (everyMs: number, jitterMs: number, missed: string) =>
  scheduleRow({ everyMs, jitterMs, missed, open: [first(everyMs, everyMs)] })

test.each([
  [180_000, 170_000, 'skip'],
  [180_000, 180_000, 'once'],
  [1_000, 5_000, 'skip'],
  [1_000, 5_000, 'all 3'],
  [60_000, 86_400_000, 'once'],
])('every %d ms with a jitter of %d ms, missed: %s', (everyMs, jitterMs, missed) => {
  const random = seededRandom(7)
  const ports = { pattern: pattern(rowOf(everyMs, jitterMs, missed)), chance: () => random.float() }
  let row = rowOf(everyMs, jitterMs, missed)
  let atMs = 0
  for (let n = 1; n <= 200; n++) {
    const [slot] = row.open as [OpenSlot]
    atMs = Math.max(atMs, slot.dueMs) + 20
    expect(slot.slotMs).toBe(n * everyMs)
    expect(atMs - slot.slotMs).toBeLessThan(jitterMs + 20 * n)
    const { write, verdict } = begin(row, slot.key, { ...ports, atMs })
    expect(verdict).toBe('begins')
    expect(write?.slots.map(({ state }) => state)).toEqual(['waiting', 'waiting'])
    const next = write?.slots.find(({ begins }) => !begins)
    row = { ...row, lastSlotMs: slot.slotMs, open: [first(next?.slotMs ?? 0, next?.dueMs ?? 0)] }
  }
})

test("under missed: 'skip' a slot that is more than a minute later than its jitter is missed", () => {
  const row = { ...rowOf(180_000, 100_000, 'skip'), open: [first(180_000, 250_000)] }
  const ports = { pattern: pattern(row), chance: () => 0 }
  expect(begin(row, keyOf(180_000), { ...ports, atMs: 309_000 }).verdict).toBe('begins')
  expect(begin(row, keyOf(180_000), { ...ports, atMs: 311_000 }).verdict).toBe('skipped')
})
