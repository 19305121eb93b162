// What an edit does to slots that wait, where somebody looks late, or several of them wait.
import { expect, test } from 'vitest'
import { pattern } from '../../../src/schedule/pattern.ts'
import { keep } from '../../../src/schedule/plan.ts'
import type { OpenSlot } from '../../../src/store/schedules.ts'
import { scheduleRow } from './schedule-row.ts'

const slot = (slotMs: number): OpenSlot => ({
  ...{ slotMs, dueMs: slotMs, key: `s@1@${new Date(slotMs).toISOString()}` },
  ...{ held: true, begunMs: null, standing: null },
})

/** A schedule whose pattern was changed at `fromMs`, and what becomes of its slots when somebody looks at `atMs`. */
function edited(everyMs: number, fromMs: number, open: readonly OpenSlot[], lastSlotMs: number, atMs: number) {
  const row = scheduleRow({ version: 2, everyMs, fromMs, lastSlotMs, open })
  const spec = { cron: null, everyMs, tz: 'UTC', startAtMs: null, endAtMs: null }
  const write = keep(row, { pattern: pattern(spec), atMs, chance: () => 0 })
  return (write?.slots ?? []).map(({ slotMs, state, reason, throughMs }) => [slotMs, state, reason, throughMs])
}

test('an instant that comes between an edit and the look at it is caught up, though the slot that waited still fits', () => {
  // Each 4 s until 8.1 s, each 3 s from then on; looked at only at 9.3 s.
  expect(edited(3_000, 8_100, [slot(12_000)], 8_000, 9_300)).toEqual([
    [12_000, 'withdrawn', null, null],
    [9_000, 'waiting', null, null],
  ])
})

test('a slot that waited and is the first of the new pattern waits on', () => {
  expect(edited(3_000, 10_100, [slot(12_000)], 8_000, 10_200)).toEqual([[12_000, 'waiting', null, null]])
})

test('of several slots that an edit replaces, each stands for what was before the next one', () => {
  const written = edited(7_000, 10_600, [slot(8_000), slot(10_000)], 6_000, 10_700)
  expect(written).toEqual([
    [8_000, 'skipped', 'replaced', 9_999],
    [10_000, 'skipped', 'replaced', 10_600],
    [14_000, 'waiting', null, null],
  ])
})

test('a slot beside the pattern that an edit replaces stands for itself, where later ones are accounted for', () => {
  expect(edited(7_000, 10_600, [slot(9_842)], 10_000, 10_700)).toEqual([
    [9_842, 'skipped', 'replaced', null],
    [14_000, 'waiting', null, null],
  ])
})
