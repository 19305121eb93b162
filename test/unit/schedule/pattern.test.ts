// Patterns: intervals keep their phase, bounds are inclusive, instants strictly increase, and looking back costs what it counts.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Pattern, type PatternSpec, pattern } from '../../../src/schedule/pattern.ts'

const DAY_MS = 86_400_000
const at = (text: string): number => Date.parse(text)
const spec = (given: Partial<PatternSpec>): PatternSpec => ({
  cron: null,
  everyMs: null,
  tz: 'UTC',
  startAtMs: null,
  endAtMs: null,
  ...given,
})
const make = (given: Partial<PatternSpec>): Pattern => pattern(spec(given))

function refused(given: Partial<PatternSpec>): string {
  try {
    make(given)
  } catch (error) {
    expect(error).toMatchObject({ name: 'RegrowError', code: 'bad_schedule' })
    return (error as Error).message
  }
  throw new Error('was accepted')
}

const anyPattern: fc.Arbitrary<PatternSpec> = fc
  .record({
    what: fc.oneof(
      fc.constantFrom(
        '* * * * * *',
        '*/7 * * * *',
        '30 2 * * *',
        '0 0 1 * *',
        '0 */5 * * 1',
        '0 0 29 2 *',
        '15 1-3 * * *',
        '*/20 * 9 * * *',
      ),
      fc.integer({ min: 1_000, max: 40 * DAY_MS }),
    ),
    tz: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Beirut'),
    startAtMs: fc.option(fc.integer({ min: at('2024-01-01'), max: at('2024-03-01') })),
    endAtMs: fc.option(fc.integer({ min: at('2033-01-01'), max: at('2034-01-01') })),
  })
  .map(({ what, ...rest }) =>
    typeof what === 'string' ? spec({ cron: what, ...rest }) : spec({ everyMs: what, ...rest }),
  )
const instant = fc.integer({ min: at('2023-10-01'), max: at('2025-02-01') })

describe('any pattern', () => {
  test('has instants that strictly increase, each of them its own, and nothing between two', () => {
    fc.assert(
      fc.property(
        anyPattern,
        instant,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (given, after, part) => {
          const each = pattern(given)
          let before = after
          for (let i = 0; i < 20; i++) {
            const next = each.next(before)
            if (next === null) return
            expect(next).toBeGreaterThan(before)
            expect(each.includes(next)).toBe(true)
            const middle = before + Math.floor((next - before) * part)
            expect(each.next(middle)).toBe(next)
            if (middle > before) expect(each.includes(middle)).toBe(false)
            before = next
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  test('counts between two instants what stepping from one to the other counts', () => {
    fc.assert(
      fc.property(
        anyPattern,
        instant,
        fc.integer({ min: 0, max: 3 * DAY_MS }),
        fc.nat(300),
        fc.nat(20),
        (given, after, width, max, keep) => {
          const each = pattern(given)
          const all: number[] = []
          for (
            let next = each.next(after);
            next !== null && next <= after + width && all.length < 2_000;
            next = each.next(next)
          )
            all.push(next)
          fc.pre(all.length < 2_000)
          const count = Math.min(all.length, max)
          expect(each.between(after, after + width, max, keep)).toEqual({
            count,
            more: all.length > max,
            newest: all.slice(all.length - Math.min(count, keep)),
          })
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('an interval', () => {
  test('is aligned to the epoch, whenever it is asked', () => {
    const each = make({ everyMs: 300_000 })
    expect(each.next(at('2026-01-01T10:02:33Z'))).toBe(at('2026-01-01T10:05:00Z'))
    expect(each.next(at('2026-01-01T10:05:00Z'))).toBe(at('2026-01-01T10:10:00Z'))
    expect(each.includes(at('2026-01-01T10:05:00Z'))).toBe(true)
    expect(each.includes(at('2026-01-01T10:05:00.001Z'))).toBe(false)
  })

  test('keeps the phase of startAt, and begins with it', () => {
    const each = make({ everyMs: 300_000, startAtMs: at('2026-01-01T10:02:30Z') })
    expect(each.next(0)).toBe(at('2026-01-01T10:02:30Z'))
    expect(each.next(at('2026-01-01T10:02:30Z'))).toBe(at('2026-01-01T10:07:30Z'))
    expect(each.next(at('2031-01-01T00:00:00Z'))).toBe(at('2031-01-01T00:02:30Z'))
  })

  test('counts a year of seconds by arithmetic', () => {
    const started = performance.now()
    const { count, more, newest } = make({ everyMs: 1_000 }).between(0, 365 * DAY_MS, 1e9, 2)
    expect({ count, more, newest }).toEqual({
      count: 31_536_000,
      more: false,
      newest: [365 * DAY_MS - 1_000, 365 * DAY_MS],
    })
    expect(performance.now() - started).toBeLessThan(50)
  })

  test.each([999, 0, -5_000, 1_500.5, Number.NaN, Number.POSITIVE_INFINITY, 1e15])('of %s ms is refused', (everyMs) => {
    expect(refused({ everyMs })).toMatch(/every is .* ms[\s\S]*one second/)
  })
})

describe('bounds', () => {
  test('are inclusive at both ends', () => {
    const each = make({ cron: '0 3 * * *', startAtMs: at('2026-01-01T03:00Z'), endAtMs: at('2026-01-03T03:00Z') })
    expect(each.next(0)).toBe(at('2026-01-01T03:00Z'))
    expect(each.next(at('2026-01-02T03:00Z'))).toBe(at('2026-01-03T03:00Z'))
    expect(each.next(at('2026-01-03T03:00Z'))).toBeNull()
    expect(each.includes(at('2026-01-04T03:00Z'))).toBe(false)
    expect(each.between(0, at('2027-01-01'), 100, 100).count).toBe(3)
  })

  test('in the wrong order, with nothing between them, or no dates at all, are refused', () => {
    expect(refused({ cron: '@daily', startAtMs: 2_000, endAtMs: 1_000 })).toMatch(/endAt .* is before startAt/)
    expect(refused({ cron: '0 0 1 1 *', startAtMs: at('2026-01-02'), endAtMs: at('2026-12-31') })).toMatch(
      /never fires between/,
    )
    expect(refused({ cron: '@daily', startAtMs: Number.NaN })).toMatch(/startAt is no date/)
    expect(refused({ cron: '@daily', endAtMs: 1e17 })).toMatch(/endAt is no date/)
  })
})

describe('a schedule', () => {
  test('has exactly one of cron and every', () => {
    expect(refused({})).toContain('neither cron nor every')
    expect(refused({ cron: '@daily', everyMs: 1_000 })).toContain('both cron and every')
  })

  test.each([
    ['Europe/Berln', "Did you mean 'Europe/Berlin'?"],
    ['Berlin', "Did you mean 'Europe/Berlin'?"],
    ['America/New York', "Did you mean 'America/New_York'?"],
    ['Asia/Kolkatta', "Did you mean 'Asia/Kolkata'?"],
    ['+02:00', "Write an IANA name such as 'Europe/Berlin', or 'UTC'."],
    ['PST', "Write an IANA name such as 'Europe/Berlin', or 'UTC'."],
    ['', "Write an IANA name such as 'Europe/Berlin', or 'UTC'."],
    ['x'.repeat(10_000), "Write an IANA name such as 'Europe/Berlin', or 'UTC'."],
  ])('in an unknown zone is refused with a guess: %.20s', (tz, hint) => {
    expect(refused({ cron: '@daily', tz })).toContain(`no zone this Node knows\n  → ${hint}`)
    expect(refused({ everyMs: 60_000, tz })).toContain('no zone this Node knows')
  })

  test.each(['UTC', 'utc', 'Etc/GMT+5', 'Asia/Kolkata', 'US/Pacific', 'CET', 'EST5EDT'])(
    'may use the zone %s',
    (tz) => {
      expect(make({ cron: '@daily', tz }).next(0)).toBeGreaterThan(0)
    },
  )

  test('looks back over thirty days of every second for the price of what it counts', () => {
    const each = make({ cron: '* * * * * *', tz: 'Europe/Berlin' })
    each.between(0, at('2026-05-01'), 10, 1)
    const started = performance.now()
    const { count, more, newest } = each.between(at('2026-05-01'), at('2026-05-31'), 1_000, 2)
    expect({ count, more, newest }).toEqual({
      count: 1_000,
      more: true,
      newest: [at('2026-05-30T23:59:59Z'), at('2026-05-31')],
    })
    expect(performance.now() - started).toBeLessThan(200)
  })

  test('looks back over a burst in a quiet year without counting the whole burst', () => {
    const started = performance.now()
    const { more, newest } = make({ cron: '* * * 1 1 *' }).between(at('2025-06-01'), at('2026-12-31'), 10, 1)
    expect({ more, newest }).toEqual({ more: true, newest: [at('2026-01-01T23:59:59Z')] })
    expect(performance.now() - started).toBeLessThan(500)
  })

  test('ends with the year 2999', () => {
    expect(make({ cron: '@yearly' }).next(at('2999-06-01'))).toBeNull()
    expect(make({ everyMs: 1_000 }).next(Date.UTC(3000, 0, 2))).toBeNull()
  })
})
