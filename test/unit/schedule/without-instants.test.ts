// Instants that ran under a clock that was ahead do not run again; the others do.
import { expect, test } from 'vitest'
import { pattern } from '../../../src/schedule/pattern.ts'
import { keep } from '../../../src/schedule/plan.ts'
import { planPorts } from '../../../src/schedule/reconcile.ts'
import { withoutInstants } from '../../../src/schedule/without-instants.ts'
import { scheduleRow } from './schedule-row.ts'

const minute = 60_000
const at = (n: number) => n * minute
const every = pattern({ cron: null, everyMs: minute, tz: 'UTC', startAtMs: null, endAtMs: null })

test('the next instant is the first one that has not run', () => {
  const left = withoutInstants(every, [at(2), at(3), at(5)])
  expect([left.next(at(1)), left.next(at(4)), left.next(at(6))]).toEqual([at(4), at(6), at(7)])
  expect(left.includes(at(2))).toBe(true)
  expect(withoutInstants(every, [])).toBe(every)
})

test('what lies between two instants is counted without those that have run', () => {
  const left = withoutInstants(every, [at(2), at(5)])
  expect(left.between(at(1), at(6), 100, 2)).toEqual({ count: 3, more: false, newest: [at(4), at(6)] })
})

test('a schedule that was brought back goes on at its next instant that has not run, also while a later one is under way', () => {
  const begun = { slotMs: at(13), dueMs: at(13), key: 'k', held: false, begunMs: at(13), standing: 'claimed' as const }
  const row = scheduleRow({ lastSlotMs: at(10), fromMs: at(1), ran: [at(11), at(13)], open: [begun] })
  const write = keep(row, planPorts({ random: { float: () => 0, hex: () => '' } }, row, at(10)))
  expect(write?.slots.map(({ slotMs, state }) => [slotMs, state])).toEqual([[at(12), 'waiting']])
})
