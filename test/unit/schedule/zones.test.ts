// Schedules over clock shifts, in zones and years that have them, against an oracle that walks every minute.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pattern } from '../../../src/schedule/pattern.ts'
import { fires, type Meaning, SHIFTS, type Walk, walk } from './clock-oracle.ts'

const walks: readonly Walk[] = SHIFTS.map(([zone, day]) => walk(zone, day))

const cron = (text: string, tz: string) => pattern({ cron: text, everyMs: null, tz, startAtMs: null, endAtMs: null })

function found(text: string, { zone, fromMs, shown }: Walk): number[] {
  const each = cron(text, zone)
  const instants: number[] = []
  const endMs = fromMs + shown.length * 60_000
  for (let at = fromMs + 24 * 3_600_000 - 1; ; ) {
    const next = each.next(at)
    if (next === null || next >= endMs) break
    if (next <= at) throw new Error(`${text} in ${zone}: after ${at} comes ${next}`)
    instants.push(next)
    at = next
  }
  return instants
}

const iso = (instants: readonly number[]): string[] => instants.map((ms) => new Date(ms).toISOString().slice(0, 16))

const numbers = (low: number, high: number): number[] => Array.from({ length: high - low + 1 }, (_, i) => low + i)

/** A field as text and as what it means. */
const field = (low: number, high: number): fc.Arbitrary<{ text: string; set: number[] }> =>
  fc.oneof(
    fc.integer({ min: low, max: high }).map((n) => ({ text: `${n}`, set: [n] })),
    fc
      .uniqueArray(fc.integer({ min: low, max: high }), { minLength: 2, maxLength: 4 })
      .map((set) => ({ text: set.join(','), set })),
    fc
      .tuple(fc.integer({ min: low, max: high }), fc.integer({ min: low, max: high }), fc.integer({ min: 1, max: 7 }))
      .map(([a, b, step]) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)]
        return {
          text: step === 1 ? `${from}-${to}` : `${from}-${to}/${step}`,
          set: numbers(from, to).filter((n) => (n - from) % step === 0),
        }
      }),
  )
/** A step over a whole field. */
const step = (low: number, high: number): fc.Arbitrary<{ text: string; set: number[] }> =>
  fc.integer({ min: 2, max: Math.min(12, high - low + 1) }).map((every) => ({
    text: `*/${every}`,
    set: numbers(low, high).filter((n) => (n - low) % every === 0),
  }))
const any = (low: number, high: number) => fc.constant({ text: '*', set: numbers(low, high) })

const meant = fc
  .record({
    minutes: fc.oneof(field(0, 59), step(0, 59), any(0, 59)),
    // Shifts happen at night: hours near midnight more often than others.
    hours: fc.oneof(field(0, 4), field(0, 23), field(22, 23), step(0, 23), any(0, 23)),
    days: fc.oneof({ weight: 3, arbitrary: any(1, 31) }, { weight: 1, arbitrary: field(1, 31) }),
    weekdays: fc.oneof({ weight: 3, arbitrary: any(0, 6) }, { weight: 1, arbitrary: field(0, 6) }),
  })
  .map(({ minutes, hours, days, weekdays }) => {
    const onDay = (date: Date): boolean => {
      const [byDay, byWeekday] = [days.set.includes(date.getUTCDate()), weekdays.set.includes(date.getUTCDay())]
      if (days.text === '*' || weekdays.text === '*') return byDay && byWeekday
      return byDay || byWeekday
    }
    const meaning: Meaning = { minutes: new Set(minutes.set), hours: new Set(hours.set), onDay }
    return { text: `${minutes.text} ${hours.text} ${days.text} * ${weekdays.text}`, meaning }
  })

describe('the walks', () => {
  test.each(SHIFTS.map((shift, i) => [...shift, walks[i] as Walk] as const))(
    '%s on %s shifts by %i minutes',
    (_zone, _day, minutes, each) => {
      expect(each.jumps).toEqual(minutes === 0 ? [] : [minutes])
    },
  )

  test('cover at least twelve zones', () => {
    expect(new Set(SHIFTS.filter(([, , minutes]) => minutes !== 0).map(([zone]) => zone)).size).toBeGreaterThanOrEqual(
      12,
    )
  })
})

describe('over a shift', () => {
  test('any pattern fires when a walk through the minutes says so', () => {
    fc.assert(
      fc.property(meant, fc.nat(3), ({ text, meaning }, part) => {
        for (const each of walks.filter((_, i) => i % 4 === part)) {
          const [got, wanted] = [found(text, each), fires(each, meaning)]
          if (got.join() !== wanted.join()) expect([each.zone, iso(got)]).toEqual([each.zone, iso(wanted)])
        }
      }),
      { numRuns: 60 },
    )
  })

  test('whenever it is asked, also in the second pass of an overlap, the next instant is the one the walk finds', () => {
    fc.assert(
      fc.property(
        meant,
        fc.array(fc.integer({ min: 24 * 60, max: 66 * 60 }), { minLength: 5, maxLength: 5 }),
        ({ text, meaning }, minutes) => {
          for (const each of walks) {
            const wanted = fires(each, meaning)
            for (const minute of minutes) {
              const afterMs = each.fromMs + minute * 60_000
              const next = wanted.find((instant) => instant > afterMs)
              const got = cron(text, each.zone).next(afterMs) as number
              if (next === undefined) expect(got === null || got >= each.fromMs + each.shown.length * 60_000).toBe(true)
              else expect([each.zone, afterMs, iso([got])]).toEqual([each.zone, afterMs, iso([next])])
            }
          }
        },
      ),
      { numRuns: 30 },
    )
  })

  test.each(walks.map((each) => [each.zone, iso([each.fromMs])[0], each] as const))(
    'each minute of the night, daily, in %s from %s',
    (_zone, _from, each) => {
      for (const hour of [0, 1, 2, 3, 23])
        for (const minute of [0, 1, 15, 29, 30, 45, 59]) {
          const meaning: Meaning = { minutes: new Set([minute]), hours: new Set([hour]), onDay: () => true }
          expect(iso(found(`${minute} ${hour} * * *`, each))).toEqual(iso(fires(each, meaning)))
        }
    },
  )
})

/** A day that was left out fires as it is passed over, beside the next one: these zones have one. */
const whole = [...new Set(SHIFTS.flatMap(([zone, , minutes]) => (Math.abs(minutes) < 1_440 ? [zone] : [])))]

test.each(whole)('a daily schedule fires once on each local day of two years in %s', (zone) => {
  const day = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' })
  for (const text of ['0 0 * * *', '30 2 * * *', '0 12 * * *']) {
    const days: string[] = []
    const each = cron(text, zone)
    for (let at = each.next(Date.UTC(2023, 0, 2)) as number; days.length < 730; at = each.next(at) as number)
      days.push(day.format(at))
    const first = Date.parse(days[0] as string)
    expect(days).toEqual(days.map((_, i) => new Date(first + i * 86_400_000).toISOString().slice(0, 10)))
  }
})

/** Known by hand, so that the oracle cannot be wrong in the same way. */
describe('by hand', () => {
  const after = (text: string, tz: string, from: string, count: number): string[] => {
    const instants: number[] = []
    for (let at = Date.parse(from); instants.length < count; instants.push(at)) at = cron(text, tz).next(at) as number
    return iso(instants)
  }

  test.each<[string, string, string, string, string[]]>([
    [
      'a time in the gap fires at its end',
      '30 2 * * *',
      'America/New_York',
      '2024-03-09T12:00Z',
      ['2024-03-10T07:00', '2024-03-11T06:30'],
    ],
    [
      'two times in one gap fire once',
      '15,45 2 * * *',
      'Europe/Berlin',
      '2024-03-30T12:00Z',
      ['2024-03-31T01:00', '2024-04-01T00:15'],
    ],
    [
      'a time in the overlap fires the first time only',
      '30 1 * * *',
      'America/New_York',
      '2024-11-02T12:00Z',
      ['2024-11-03T05:30', '2024-11-04T06:30'],
    ],
    [
      'asked in the second pass, it does not fire again',
      '30 1 * * *',
      'America/New_York',
      '2024-11-03T06:10Z',
      ['2024-11-04T06:30'],
    ],
    [
      'every hour fires in both hours of the overlap',
      '30 * * * *',
      'America/New_York',
      '2024-11-03T05:00Z',
      ['2024-11-03T05:30', '2024-11-03T06:30', '2024-11-03T07:30'],
    ],
    [
      'every hour fires once in each hour around a gap',
      '30 * * * *',
      'Europe/Berlin',
      '2024-03-31T00:00Z',
      ['2024-03-31T00:30', '2024-03-31T01:30', '2024-03-31T02:30'],
    ],
    [
      'a list of hours names local times: once each',
      '30 1,13 * * *',
      'America/New_York',
      '2024-11-03T00:00Z',
      ['2024-11-03T05:30', '2024-11-03T18:30'],
    ],
    [
      'a step of hours names local times too',
      '0 */2 * * *',
      'Europe/Berlin',
      '2024-03-30T22:00Z',
      ['2024-03-30T23:00', '2024-03-31T01:00', '2024-03-31T02:00'],
    ],
    [
      '0-23 means the same as *',
      '30 0-23 * * *',
      'America/New_York',
      '2024-11-03T05:00Z',
      ['2024-11-03T05:30', '2024-11-03T06:30'],
    ],
    [
      'midnight that does not exist is one o’clock',
      '0 0 * * *',
      'America/Sao_Paulo',
      '2018-11-03T12:00Z',
      ['2018-11-04T03:00', '2018-11-05T02:00'],
    ],
    [
      'midnight that comes twice counts once',
      '0 0 * * *',
      'America/Havana',
      '2024-11-02T12:00Z',
      ['2024-11-03T04:00', '2024-11-04T05:00'],
    ],
    [
      'half an hour of gap',
      '10 2 * * *',
      'Australia/Lord_Howe',
      '2024-10-05T00:00Z',
      ['2024-10-05T15:30', '2024-10-06T15:10'],
    ],
    [
      'half an hour of overlap',
      '40 1 * * *',
      'Australia/Lord_Howe',
      '2024-04-06T00:00Z',
      ['2024-04-06T14:40', '2024-04-07T15:10'],
    ],
    [
      'a day that was left out fires as it is passed over',
      '0 3 * * *',
      'Pacific/Apia',
      '2011-12-29T14:00Z',
      ['2011-12-30T10:00', '2011-12-30T13:00', '2011-12-31T13:00'],
    ],
    [
      'two hours of gap',
      '30 2 * * *',
      'Antarctica/Troll',
      '2024-03-30T12:00Z',
      ['2024-03-31T01:00', '2024-04-01T00:30'],
    ],
  ])('%s', (_fact, text, tz, from, expected) => {
    expect(after(text, tz, from, expected.length)).toEqual(expected)
  })
})
