// What becomes of slots that catch up while an earlier one runs.
import { expect, test } from 'vitest'
import { pattern } from '../../../src/schedule/pattern.ts'
import { begin } from '../../../src/schedule/plan.ts'
import type { OpenSlot } from '../../../src/store/schedules.ts'
import { scheduleRow } from './schedule-row.ts'

const keyOf = (slotMs: number) => `s@1@${new Date(slotMs).toISOString()}`
const slot = (slotMs: number, more: Partial<OpenSlot> = {}): OpenSlot => ({
  ...{ slotMs, dueMs: 17_000, key: keyOf(slotMs), held: false, begunMs: null, standing: null },
  ...more,
})

test('of several slots that catch up, one that is overlapped leaves the others as they are', () => {
  const row = scheduleRow({
    everyMs: 3_000,
    missed: 'all 3',
    overlap: 'skip',
    fromMs: 0,
    lastSlotMs: 6_000,
    open: [slot(3_000, { begunMs: 3_010, standing: 'claimed' }), slot(9_000), slot(12_000), slot(15_000)],
  })
  const spec = { cron: null, everyMs: 3_000, tz: 'UTC', startAtMs: null, endAtMs: null }
  const ports = { pattern: pattern(spec), atMs: 28_700, chance: () => 0 }
  const { write, verdict } = begin(row, keyOf(9_000), ports)
  expect(verdict).toBe('skipped')
  expect(write?.lastSlotMs).toBe(9_000)
  expect(write?.slots.map(({ slotMs, state, reason, throughMs }) => [slotMs, state, reason, throughMs])).toEqual([
    [9_000, 'skipped', 'overlap', null],
  ])
})

test('of slots that have begun before and ask together one begins, and the others wait for it', () => {
  const begun = { begunMs: 9_010, standing: 'claimed' } as const
  const row = scheduleRow({
    everyMs: 3_000,
    missed: 'once',
    overlap: 'queue',
    fromMs: 0,
    lastSlotMs: 12_000,
    open: [slot(9_000, begun), slot(12_000, begun), slot(15_000)],
  })
  const spec = { cron: null, everyMs: 3_000, tz: 'UTC', startAtMs: null, endAtMs: null }
  const ports = { pattern: pattern(spec), atMs: 14_000, chance: () => 0 }
  expect(begin(row, keyOf(9_000), ports, new Set([keyOf(12_000)])).verdict).toBe('begins')
  expect(begin(row, keyOf(12_000), ports, new Set()).verdict).toBe('later')
})
