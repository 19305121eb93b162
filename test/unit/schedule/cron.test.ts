// Cron text: what is read, what is refused and how it is said, and which days it means.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RegrowError } from '../../../src/base/errors.ts'
import { calendar } from '../../../src/schedule/cron.ts'

const DAY_MS = 86_400_000
const from = Date.UTC(2023, 0, 1)

function refusal(text: string): RegrowError {
  try {
    calendar(text)
  } catch (error) {
    expect(error).toBeInstanceOf(RegrowError)
    return error as RegrowError
  }
  throw new Error(`${JSON.stringify(text)} was accepted`)
}

function first(text: string, count: number): string[] {
  const found: string[] = []
  for (let at: number | null = from - 1; found.length < count; ) {
    at = calendar(text).next(at as number)
    if (at === null) break
    found.push(new Date(at).toISOString().slice(0, 19).replace(':00:00', 'h'))
  }
  return found
}

describe('cron text that is refused says which field, what it says, and what it may say', () => {
  test.each<[string, RegExp]>([
    ['61 * * * *', /minute field says "61"[\s\S]*0 to 59/],
    ['* 24 * * *', /hour field says "24"[\s\S]*0 to 23/],
    ['* * 0 * *', /day of month field says "0"[\s\S]*1 to 31/],
    ['* * 32 * *', /day of month field says "32"/],
    ['* * * 13 *', /month field says "13"[\s\S]*JAN to DEC/],
    ['* * * * 8', /day of week field says "8"[\s\S]*SUN to SAT/],
    ['60 * * * * *', /second field says "60"/],
    ['1-100000000 * * * *', /minute field says "1-100000000"/],
    ['100000000-1 * * * *', /minute field/],
    ['*/100000000 * * * *', /step of the minute field is 1 to 60/],
    ['*/0 * * * *', /step of the minute field is 1 to 60/],
    ['1-5/99999999999999999999 * * * *', /step of the minute field/],
    ['5/15 * * * *', /write 5-59\/15/],
    ['50-10 * * * *', /50-59,0-10/],
    ['0 0 * * FRI-MON', /FRI-6,0-MON/],
    ['5* * * * *', /minute field says "5\*"/],
    ['-5 * * * *', /minute field/],
    ['1,,2 * * * *', /minute field/],
    ['1- * * * *', /minute field/],
    ['1.5 * * * *', /minute field/],
    ['? * * * *', /minute field/],
    ['*-5 * * * *', /minute field/],
    ['0x1 * * * *', /minute field/],
    ['* * * JANUARY *', /month field/],
    ['* * * * FUNDAY', /day of week field/],
    ['0 0 5L * *', /day of month field says "5L"/],
    ['0 0 32W * *', /day of month field/],
    ['0 0 * * 1#6', /day of week field/],
    ['0 0 * * +1', /day of week field/],
    ['* * * *', /has 4 fields[\s\S]*five fields/],
    ['* * * * * * *', /has 7 fields/],
    ['', /has 0 fields/],
    ['   ', /has 0 fields/],
    ['@reboot', /@reboot[\s\S]*@daily/],
    ['every day', /has 2 fields/],
    ['2026-01-01T00:00:00', /has 1 field\b/],
    ['0 0 30 2 *', /never fires[\s\S]*30 February/],
    ['0 0 31 4,6,9,11 *', /never fires/],
    ['0 0 30W 2 *', /never fires/],
  ])('%s', (text, said) => {
    const error = refusal(text)
    expect(error.code).toBe('bad_schedule')
    expect(error.message).toMatch(said)
    expect(error.hint).not.toBe('')
  })

  test('a text of 257 characters is refused unread', () => {
    expect(refusal(`${'0,'.repeat(124)}0 * * * *`).message).toContain('257 characters')
    expect(first(`${'0,'.repeat(123)}00 * * * *`, 1)).toEqual(['2023-01-01T00h'])
  })

  test('what is no text is refused', () => {
    expect(refusal(5 as unknown as string).message).toContain('a number')
  })

  test('any text is read or refused with bad_schedule, in a bounded time', () => {
    const near = fc
      .array(fc.constantFrom(...'0123456789*/-,LW#? @abcMON'), { maxLength: 40 })
      .map((all) => all.join(''))
    const fields = fc.array(
      near.map((text) => text.replaceAll(' ', '') || '*'),
      { minLength: 5, maxLength: 6 },
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ maxLength: 300 }),
          near,
          fields.map((all) => all.join(' ')),
        ),
        (text) => {
          const started = performance.now()
          try {
            calendar(text)
          } catch (error) {
            expect(error).toMatchObject({ name: 'RegrowError', code: 'bad_schedule' })
          }
          expect(performance.now() - started).toBeLessThan(1_000)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('cron text that is read', () => {
  test.each<[string, string[]]>([
    ['@hourly', ['2023-01-01T00h', '2023-01-01T01h']],
    ['@DAILY', ['2023-01-01T00h', '2023-01-02T00h']],
    ['@weekly', ['2023-01-01T00h', '2023-01-08T00h']],
    ['@monthly', ['2023-01-01T00h', '2023-02-01T00h']],
    ['@yearly', ['2023-01-01T00h', '2024-01-01T00h']],
    ['  0   3\t*  * * ', ['2023-01-01T03h', '2023-01-02T03h']],
    ['15,45 * * * * *', ['2023-01-01T00:00:15', '2023-01-01T00:00:45']],
    ['0 0 * jan,DEC Mon', ['2023-01-02T00h', '2023-01-09T00h']],
    ['0 0 * * FRI-SUN', ['2023-01-01T00h', '2023-01-06T00h', '2023-01-07T00h', '2023-01-08T00h']],
    ['0 0 * * 7', ['2023-01-01T00h', '2023-01-08T00h']],
    ['0 0 * * 5-7', ['2023-01-01T00h', '2023-01-06T00h', '2023-01-07T00h', '2023-01-08T00h']],
    ['0 0 ? * MON', ['2023-01-02T00h', '2023-01-09T00h']],
    ['0 0 13 * FRI', ['2023-01-06T00h', '2023-01-13T00h', '2023-01-20T00h']],
    ['0 0 29 2 *', ['2024-02-29T00h', '2028-02-29T00h']],
    ['0 0 L * *', ['2023-01-31T00h', '2023-02-28T00h', '2023-03-31T00h']],
    ['0 0 LW * *', ['2023-01-31T00h', '2023-02-28T00h', '2023-03-31T00h', '2023-04-28T00h']],
    ['0 0 15W * *', ['2023-01-16T00h', '2023-02-15T00h', '2023-03-15T00h', '2023-04-14T00h']],
    ['0 0 * * MON#2', ['2023-01-09T00h', '2023-02-13T00h']],
    ['0 0 * * FRIL', ['2023-01-27T00h', '2023-02-24T00h']],
  ])('%s', (text, expected) => {
    expect(first(text, expected.length)).toEqual(expected)
  })

  test('a text with every hour says so, however it is written', () => {
    for (const hours of ['*', '*/1', '0-23', '0-11,12-23', '*,5'])
      expect(calendar(`0 ${hours} * * *`).everyHour).toBe(true)
    for (const hours of ['*/2', '0-22', '1-23', '3', '0,12']) expect(calendar(`0 ${hours} * * *`).everyHour).toBe(false)
  })

  /** A day's form as text, and as a question to a date, by plain counting. */
  const lastOf = (date: Date): number =>
    new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  const isWeekday = (date: Date, day: number): boolean =>
    ![0, 6].includes(new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day)).getUTCDay())
  const form = fc.oneof(
    fc.constant({ text: 'L * *', on: (date: Date) => date.getUTCDate() === lastOf(date) }),
    fc.constant({
      text: 'LW * *',
      on: (date: Date) =>
        date.getUTCDate() === [0, 1, 2].map((back) => lastOf(date) - back).find((day) => isWeekday(date, day)),
    }),
    fc.integer({ min: 1, max: 31 }).map((day) => ({
      text: `${day}W * *`,
      // The nearest weekday that is in the same month.
      on: (date: Date) =>
        day <= lastOf(date) &&
        date.getUTCDate() ===
          [day, day - 1, day + 1, day - 2, day + 2].find(
            (each) => each >= 1 && each <= lastOf(date) && isWeekday(date, each),
          ),
    })),
    fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 5 })).map(([weekday, nth]) => ({
      text: `* * ${weekday}#${nth}`,
      on: (date: Date) => date.getUTCDay() === weekday && Math.ceil(date.getUTCDate() / 7) === nth,
    })),
    fc.integer({ min: 0, max: 6 }).map((weekday) => ({
      text: `* * ${weekday}L`,
      on: (date: Date) => date.getUTCDay() === weekday && date.getUTCDate() + 7 > lastOf(date),
    })),
    fc.tuple(fc.integer({ min: 1, max: 31 }), fc.integer({ min: 0, max: 6 })).map(([day, weekday]) => ({
      text: `${day},L * ${weekday}`,
      on: (date: Date) => [day, lastOf(date)].includes(date.getUTCDate()) || date.getUTCDay() === weekday,
    })),
    fc.tuple(fc.integer({ min: 1, max: 28 }), fc.integer({ min: 1, max: 12 })).map(([day, month]) => ({
      text: `${day}-31/3 ${month} *`,
      on: (date: Date) =>
        date.getUTCMonth() + 1 === month && date.getUTCDate() >= day && (date.getUTCDate() - day) % 3 === 0,
    })),
  )

  test('the days it means are those that counting finds, over four years', () => {
    fc.assert(
      fc.property(form, fc.integer({ min: 1990, max: 2060 }), ({ text, on }, year) => {
        const [begin, end] = [Date.UTC(year, 0, 1), Date.UTC(year + 4, 0, 1)]
        const counted: number[] = []
        for (let day = begin; day < end; day += DAY_MS) if (on(new Date(day))) counted.push(day)
        const found: number[] = []
        for (
          let at = calendar(`0 0 ${text}`).next(begin - 1);
          at !== null && at < end;
          at = calendar(`0 0 ${text}`).next(at)
        )
          found.push(at)
        expect(found).toEqual(counted)
      }),
      { numRuns: 150 },
    )
  })
})
