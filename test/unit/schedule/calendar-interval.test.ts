// Calendar intervals over nine years and fourteen zones, against a calendar that counts each day and clocks that ask Intl.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CalendarRule, calendarText, readCalendarText } from '../../../src/job/calendar-interval.ts'
import { readSchedule } from '../../../src/job/schedule.ts'
import { pattern } from '../../../src/schedule/pattern.ts'
import { clocksIn } from './calendar-oracle.ts'

const FROM_MS = Date.UTC(2024, 0, 1)
const TO_MS = Date.UTC(2033, 0, 1)
const DAY_MS = 86_400_000

const ZONES = [
  'UTC',
  'America/New_York',
  'America/Sao_Paulo',
  'America/Havana',
  'Europe/Berlin',
  'Europe/Dublin',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Antarctica/Troll',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Apia',
]

/** Walks day by day from the anchor, counting days and months as one does on a wall calendar. */
function counted({ count, unit, anchor }: CalendarRule, fromMs: number, toMs: number): number[] {
  const first = new Date(`${anchor}Z`)
  const timeMs = first.getTime() - Math.floor(first.getTime() / DAY_MS) * DAY_MS
  const found: number[] = []
  let [days, months] = [0, 0]
  const day = new Date(first.getTime() - timeMs)
  for (; day.getTime() < toMs; ) {
    const tomorrow = new Date(day.getTime() + DAY_MS)
    const isLastOfMonth = tomorrow.getUTCDate() === 1
    const isDate = day.getUTCDate() === first.getUTCDate() || (isLastOfMonth && day.getUTCDate() < first.getUTCDate())
    const fits =
      unit === 'days'
        ? days % count === 0
        : unit === 'weeks'
          ? days % 7 === 0 && (days / 7) % count === 0
          : isDate && (unit === 'months' ? months % count === 0 : months % (12 * count) === 0)
    if (fits && day.getTime() + timeMs >= fromMs) found.push(day.getTime() + timeMs)
    days++
    if (isLastOfMonth) months++
    day.setTime(tomorrow.getTime())
  }
  return found
}

const specOf = (rule: CalendarRule, tz: string) => ({
  cron: calendarText(rule),
  everyMs: null,
  tz,
  startAtMs: null,
  endAtMs: null,
})

function steps(next: (afterMs: number) => number | null, fromMs: number, toMs: number): number[] {
  const found: number[] = []
  for (let at = next(fromMs - 1); at !== null && at < toMs; at = next(at)) found.push(at)
  return found
}

const iso = (all: readonly number[]) => all.map((ms) => new Date(ms).toISOString())

const known: readonly CalendarRule[] = [
  { count: 1, unit: 'days', anchor: '2024-01-01T02:30:00' },
  { count: 10, unit: 'days', anchor: '2023-12-30T00:00:00' },
  { count: 2, unit: 'weeks', anchor: '2024-01-01T09:00:00' },
  { count: 1, unit: 'weeks', anchor: '1970-01-05T00:00:00' },
  { count: 1, unit: 'months', anchor: '2024-01-31T02:30:00' },
  { count: 1, unit: 'months', anchor: '1970-01-01T00:00:00' },
  { count: 3, unit: 'months', anchor: '2023-11-30T23:59:59' },
  { count: 5, unit: 'months', anchor: '1969-10-29T00:00:00' },
  { count: 1, unit: 'years', anchor: '2024-02-29T12:00:00' },
  { count: 2, unit: 'years', anchor: '2025-12-31T00:00:00' },
]

const anyRule: fc.Arbitrary<CalendarRule> = fc
  .record({
    unit: fc.constantFrom('days' as const, 'weeks' as const, 'months' as const, 'years' as const),
    count: fc.integer({ min: 1, max: 30 }),
    anchorMs: fc.integer({ min: Date.UTC(2020, 0, 1) / 1_000, max: Date.UTC(2026, 0, 1) / 1_000 }),
  })
  .map(({ unit, count, anchorMs }) => ({
    unit,
    count: unit === 'years' ? Math.min(count, 4) : count,
    anchor: new Date(anchorMs * 1_000).toISOString().slice(0, 19),
  }))

describe.each(ZONES)('in %s, from 2024 to 2032', (zone) => {
  const at = clocksIn(zone)
  const check = (rule: CalendarRule) => {
    const { next } = pattern(specOf(rule, zone))
    const wanted = counted(rule, FROM_MS, TO_MS).map(at)
    const found = steps(next, at(FROM_MS), at(TO_MS))
    if (found.join() !== wanted.join()) expect(iso(found), calendarText(rule)).toEqual(iso(wanted))
  }

  test('known intervals fire at their local times', () => {
    for (const rule of known) check(rule)
  })

  test('any interval fires at its local times', () => {
    fc.assert(fc.property(anyRule, check), { numRuns: 8 })
  })
})

test('a 31st is the last day of shorter months, and the 31st again after them', () => {
  const { next } = pattern(specOf({ count: 1, unit: 'months', anchor: '2026-01-31T09:00:00' }, 'Europe/Berlin'))
  const days = steps(next, Date.UTC(2026, 0, 1), Date.UTC(2026, 6, 1)).map((ms) => new Date(ms).toISOString())
  expect(days).toEqual([
    '2026-01-31T08:00:00.000Z',
    '2026-02-28T08:00:00.000Z',
    '2026-03-31T07:00:00.000Z',
    '2026-04-30T07:00:00.000Z',
    '2026-05-31T07:00:00.000Z',
    '2026-06-30T07:00:00.000Z',
  ])
})

test('nothing fires before the anchor', () => {
  const { next, includes } = pattern(specOf({ count: 2, unit: 'weeks', anchor: '2030-01-07T09:00:00' }, 'UTC'))
  expect(next(0)).toBe(Date.UTC(2030, 0, 7, 9))
  expect(includes(Date.UTC(2029, 11, 24, 9))).toBe(false)
})

test('it is read from `every`, `anchor` and `tz`, and its text is read back', () => {
  const read = (options: object) => readSchedule(options, 's')
  const { recurrence, mistakes } = read({ every: { weeks: 2 }, anchor: '2026-01-05T09:00', tz: 'Europe/Berlin' })
  expect(mistakes).toEqual([])
  expect(recurrence).toMatchObject({
    cron: 'every 2 weeks from 2026-01-05T09:00:00',
    everyMs: null,
    tz: 'Europe/Berlin',
  })
  expect(readCalendarText(recurrence.cron as string)).toEqual({
    count: 2,
    unit: 'weeks',
    anchor: '2026-01-05T09:00:00',
  })
  expect(read({ every: { months: 1 } }).recurrence.cron).toBe('every 1 months from 1970-01-01T00:00:00')
  expect(read({ every: { weeks: 1 } }).recurrence.cron).toBe('every 1 weeks from 1970-01-05T00:00:00')
  expect(read({ every: { days: 1 }, anchor: '2026-01-05' }).recurrence.cron).toBe(
    'every 1 days from 2026-01-05T00:00:00',
  )
})

test.each<[object, RegExp]>([
  [
    { every: '90m', tz: 'Europe/Berlin' },
    /`schedule\.tz` does not go with every: "90m", which is elapsed time.*\{ days: 1 \}/,
  ],
  [{ every: 5_000, tz: 'UTC' }, /`schedule\.tz` does not go with every: 5000/],
  [{ every: '90m', anchor: '2026-01-01' }, /`schedule\.anchor` goes with a calendar interval/],
  [{ cron: '@daily', anchor: '2026-01-01' }, /`schedule\.anchor` goes with a calendar interval/],
  [{ every: { weeks: 1, days: 1 } }, /exactly one of days, weeks, months and years/],
  [{ every: { hours: 1 } }, /exactly one of days, weeks, months and years/],
  [{ every: {} }, /exactly one of days, weeks, months and years/],
  [{ every: { months: 0 } }, /`schedule\.every\.months` is 0; expected a whole number from 1 to 1,200/],
  [{ every: { months: '1' } }, /`schedule\.every\.months` is "1"/],
  [{ every: { days: 1.5 } }, /`schedule\.every\.days` is 1\.5/],
  [{ every: { months: 1 }, anchor: '2026-02-31' }, /`schedule\.anchor` is "2026-02-31"; expected a local date/],
  [{ every: { months: 1 }, anchor: '2026-01-01T09:00Z' }, /without a zone/],
  [{ every: { months: 1 }, anchor: new Date(0) }, /expected a local date/],
  [{ cron: 'every 2 weeks from 2026-01-05T09:00:00' }, /an interval is written as `every`/],
])('%j is refused', (options, said) => {
  expect(readSchedule(options, 's').mistakes.join('\n')).toMatch(said)
})
