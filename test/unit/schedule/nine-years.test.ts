// Every kind of cron text over nine years and twelve zones, against a calendar that counts each day.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calendar } from '../../../src/schedule/cron.ts'
import { pattern } from '../../../src/schedule/pattern.ts'
import { anyDays, clocksIn, daysBetween, type Meant } from './calendar-oracle.ts'

const FROM_MS = Date.UTC(2024, 0, 1)
const TO_MS = Date.UTC(2034, 0, 1)
const HOUR_MS = 3_600_000

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

function steps(next: (afterMs: number) => number | null, fromMs: number, toMs: number): number[] {
  const found: number[] = []
  for (let at = next(fromMs - 1); at !== null && at < toMs; at = next(at)) found.push(at)
  return found
}

const iso = (all: readonly number[]) => all.map((ms) => new Date(ms).toISOString())

const lengthOf = (date: Date) => new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
const last = (date: Date) => date.getUTCDate() === lengthOf(date)

/** Days in plain words; what no generator could get wrong in the same way. */
const known: readonly Meant[] = [
  { text: '1,31 * *', on: (date) => [1, 31].includes(date.getUTCDate()) },
  { text: '*/10 * *', on: (date) => [1, 11, 21, 31].includes(date.getUTCDate()) },
  { text: '1,30 * *', on: (date) => [1, 30].includes(date.getUTCDate()) },
  { text: '29-31 * *', on: (date) => date.getUTCDate() >= 29 },
  { text: '31 * *', on: (date) => date.getUTCDate() === 31 },
  { text: '29 2 *', on: (date) => date.getUTCMonth() === 1 && date.getUTCDate() === 29 },
  { text: '1-31/2 * *', on: (date) => date.getUTCDate() % 2 === 1 },
  { text: 'L * *', on: last },
  { text: '1,L * *', on: (date) => date.getUTCDate() === 1 || last(date) },
  { text: '* * 1-5', on: (date) => date.getUTCDay() >= 1 && date.getUTCDay() <= 5 },
  { text: '1,31 * FRI', on: (date) => [1, 31].includes(date.getUTCDate()) || date.getUTCDay() === 5 },
  { text: '* */3 *', on: (date) => date.getUTCMonth() % 3 === 0 },
]

describe('the days of a cron text are those that counting finds', () => {
  test.each(known)('0 0 $text, from 2024 to 2033', ({ text, on }) => {
    const found = steps(calendar(`0 0 ${text}`).next, FROM_MS, TO_MS)
    expect(iso(found)).toEqual(iso(daysBetween(FROM_MS, TO_MS, on)))
  })

  test('0 0 1,31 * * and 0 0 */10 * * fire on 1 March 2027', () => {
    for (const text of ['0 0 1,31 * *', '0 0 */10 * *'])
      expect(calendar(text).next(Date.UTC(2027, 1, 28))).toBe(Date.UTC(2027, 2, 1))
  })

  test('any days, from 2024 to 2033', () => {
    fc.assert(
      fc.property(anyDays, ({ text, on }) => {
        const wanted = daysBetween(FROM_MS, TO_MS, on)
        // Refused where no year has such a day: then counting finds none either.
        fc.pre(wanted.length > 0)
        const found = steps(calendar(`0 0 ${text}`).next, FROM_MS, TO_MS)
        if (found.join() !== wanted.join()) expect(iso(found), text).toEqual(iso(wanted))
      }),
      { numRuns: 150 },
    )
  })

  test('from any second on, the next one is the first that counting finds, with any time of the day', () => {
    const numbers = (high: number) =>
      fc
        .uniqueArray(fc.integer({ min: 0, max: high }), { minLength: 1, maxLength: 3 })
        .map((all) => all.sort((a, b) => a - b))
    fc.assert(
      fc.property(
        anyDays,
        fc.record({ seconds: numbers(59), minutes: numbers(59), hours: numbers(23) }),
        fc.integer({ min: FROM_MS, max: TO_MS }),
        ({ text, on }, { seconds, minutes, hours }, afterMs) => {
          const midnight = Math.floor(afterMs / 86_400_000) * 86_400_000
          const days = daysBetween(midnight, midnight + 200 * 86_400_000, on)
          const times = hours.flatMap((h) =>
            minutes.flatMap((m) => seconds.map((s) => ((h * 60 + m) * 60 + s) * 1_000)),
          )
          const wanted = days.flatMap((day) => times.map((time) => day + time)).find((each) => each > afterMs)
          fc.pre(wanted !== undefined)
          const full = `${seconds} ${minutes} ${hours} ${text}`
          expect([full, calendar(full).next(afterMs)]).toEqual([full, wanted])
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe.each(ZONES)('in %s', (zone) => {
  const at = clocksIn(zone)
  const check = ({ text, on }: Meant, hour: number, minute: number) => {
    const full = `${minute} ${hour} ${text}`
    const { next } = pattern({ cron: full, everyMs: null, tz: zone, startAtMs: null, endAtMs: null })
    const timeMs = hour * HOUR_MS + minute * 60_000
    const wanted = daysBetween(FROM_MS, TO_MS, on).map((day) => at(day + timeMs))
    const found = steps(next, at(FROM_MS), at(TO_MS))
    if (found.join() !== wanted.join()) expect(iso(found), full).toEqual(iso(wanted))
  }

  test('known days fire at their local times, from 2024 to 2033', () => {
    for (const days of known) check(days, 2, 30)
  })

  test('any days fire at their local times, from 2024 to 2033', () => {
    fc.assert(
      fc.property(
        anyDays,
        fc.constantFrom(0, 1, 2, 3, 12, 23),
        fc.constantFrom(0, 15, 30, 59),
        (days, hour, minute) => {
          fc.pre(daysBetween(FROM_MS, TO_MS, days.on).length > 0)
          check(days, hour, minute)
        },
      ),
      { numRuns: 6 },
    )
  })
})
