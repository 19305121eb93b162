// Which days a cron text means, found the slow way: every kind of day, month and weekday item as text and as a question to a
// date, asked of each day in turn; and the instant of a local time, by asking Intl. It shares nothing with src/schedule.
import fc from 'fast-check'

const DAY_MS = 86_400_000

/** A field, or one item of it: as text, and as what it means for a date (UTC stands for the calendar without zones). */
export interface Meant {
  readonly text: string
  readonly on: (date: Date) => boolean
}

const lengthOf = (date: Date) => new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
const weekdayOf = (date: Date, day: number) =>
  new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day)).getUTCDay()
const isWorkday = (date: Date, day: number) => weekdayOf(date, day) >= 1 && weekdayOf(date, day) <= 5

const upTo = (low: number, high: number) => Array.from({ length: high - low + 1 }, (_, i) => low + i)

/** Numbers, ranges and steps of a field. `read`: which values of the field a date has (Sunday is 0 and 7). `words`: names from `low` on. */
function plain(low: number, high: number, read: (date: Date) => readonly number[], words: readonly string[] = []) {
  const written = (value: number, asWord: boolean) => (asWord && words[value - low]) || String(value)
  const one = fc.tuple(fc.integer({ min: low, max: high }), fc.boolean()).map(
    ([value, asWord]): Meant => ({
      text: written(value, asWord),
      on: (date) => read(date).includes(value),
    }),
  )
  const range = fc
    .tuple(fc.integer({ min: low, max: high }), fc.integer({ min: low, max: high }), fc.boolean(), fc.nat(9))
    .map(([a, b, asWord, step]): Meant => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)]
      const every = Math.min(step, words.length > 7 ? 12 : 7)
      const set = upTo(from, to).filter((value) => (value - from) % Math.max(1, every) === 0)
      const text = `${written(from, asWord)}-${written(to, asWord)}${every > 0 ? `/${every}` : ''}`
      return { text, on: (date) => read(date).some((value) => set.includes(value)) }
    })
  return { one, range }
}

const stepOver = (low: number, most: number, read: (date: Date) => number) =>
  fc.integer({ min: 1, max: most }).map(
    (every): Meant => ({
      text: `*/${every}`,
      on: (date) => (read(date) - low) % every === 0,
    }),
  )

const listOf = (item: fc.Arbitrary<Meant>, maxLength: number) =>
  fc.array(item, { minLength: 1, maxLength }).map(
    (items): Meant => ({
      text: items.map(({ text }) => text).join(','),
      on: (date) => items.some(({ on }) => on(date)),
    }),
  )

const lastDay: Meant = { text: 'L', on: (date) => date.getUTCDate() === lengthOf(date) }
const lastWorkday: Meant = {
  text: 'LW',
  on: (date) => date.getUTCDate() === Math.max(...upTo(1, lengthOf(date)).filter((day) => isWorkday(date, day))),
}
const nearestWorkday = fc.integer({ min: 1, max: 31 }).map(
  (day): Meant => ({
    text: `${day}W`,
    // The nearest that is in the same month; a month without that day has none.
    on: (date) =>
      day <= lengthOf(date) &&
      date.getUTCDate() ===
        [day, day - 1, day + 1, day - 2, day + 2].find(
          (each) => each >= 1 && each <= lengthOf(date) && isWorkday(date, each),
        ),
  }),
)
const days = plain(1, 31, (date) => [date.getUTCDate()])
const dayField = fc.oneof(
  listOf(days.one, 4),
  days.range,
  stepOver(1, 31, (date) => date.getUTCDate()),
  fc.constant(lastWorkday),
  listOf(fc.oneof(days.one, days.range, fc.constant(lastDay), nearestWorkday), 4),
)

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const months = plain(1, 12, (date) => [date.getUTCMonth() + 1], MONTHS)
const monthField = fc.oneof(
  listOf(fc.oneof(months.one, months.range), 3),
  stepOver(1, 12, (date) => date.getUTCMonth() + 1),
)

const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const weekdays = plain(0, 7, (date) => (date.getUTCDay() === 0 ? [0, 7] : [date.getUTCDay()]), WEEKDAYS)
const nthWeekday = fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 5 }), fc.boolean()).map(
  ([weekday, nth, asWord]): Meant => ({
    text: `${asWord ? WEEKDAYS[weekday] : weekday}#${nth}`,
    on: (date) =>
      upTo(1, lengthOf(date)).filter((day) => weekdayOf(date, day) === weekday)[nth - 1] === date.getUTCDate(),
  }),
)
const lastWeekday = fc.integer({ min: 0, max: 6 }).map(
  (weekday): Meant => ({
    text: `${WEEKDAYS[weekday]}L`,
    on: (date) => upTo(1, lengthOf(date)).findLast((day) => weekdayOf(date, day) === weekday) === date.getUTCDate(),
  }),
)
const toSunday = fc.integer({ min: 1, max: 6 }).map(
  (from): Meant => ({
    text: `${WEEKDAYS[from]}-SUN`,
    on: (date) => date.getUTCDay() === 0 || date.getUTCDay() >= from,
  }),
)
const weekdayField = fc.oneof(
  listOf(weekdays.one, 3),
  weekdays.range,
  toSunday,
  stepOver(0, 7, (date) => date.getUTCDay()),
  listOf(fc.oneof(weekdays.one, nthWeekday, lastWeekday), 3),
)

const any = (text: string): fc.Arbitrary<Meant> => fc.constant({ text, on: () => true })

/** The three fields of days: day of month, month, day of week, and the rule that joins them. */
export const anyDays: fc.Arbitrary<Meant> = fc
  .tuple(
    fc.oneof({ weight: 3, arbitrary: dayField }, { weight: 1, arbitrary: fc.oneof(any('*'), any('?')) }),
    fc.oneof({ weight: 1, arbitrary: monthField }, { weight: 2, arbitrary: any('*') }),
    fc.oneof({ weight: 1, arbitrary: weekdayField }, { weight: 1, arbitrary: fc.oneof(any('*'), any('?')) }),
  )
  .map(([day, month, weekday]) => daysOf(day, month, weekday))

/** With both day fields restricted either is enough. */
export function daysOf(day: Meant, month: Meant, weekday: Meant): Meant {
  const free = ({ text }: Meant) => text === '*' || text === '?'
  return {
    text: `${day.text} ${month.text} ${weekday.text}`,
    on: (date) =>
      month.on(date) &&
      (free(day) || free(weekday) ? day.on(date) && weekday.on(date) : day.on(date) || weekday.on(date)),
  }
}

/** The days of [fromMs, toMs) on which this question is answered with yes, as midnights. */
export function daysBetween(fromMs: number, toMs: number, on: Meant['on']): number[] {
  const found: number[] = []
  for (let day = fromMs; day < toMs; day += DAY_MS) if (on(new Date(day))) found.push(day)
  return found
}

/** The clocks of a zone by Intl alone: the first instant at which they show this local time, or have just jumped over it. */
export function clocksIn(zone: string): (localMs: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  const shown = (atMs: number) => Date.parse(`${format.format(atMs).replace(' ', 'T')}Z`)
  return (localMs) => {
    // A local time is at most a day from UTC: what the clocks lead by then, before and after any shift.
    const leads = [-DAY_MS, DAY_MS].map((far) => shown(localMs + far) - (localMs + far))
    const found = leads.map((lead) => localMs - lead).filter((atMs) => shown(atMs) === localMs)
    if (found.length > 0) return Math.min(...found)
    let [low, high] = [localMs - DAY_MS, localMs + DAY_MS]
    while (high - low > 1_000) {
      const middle = Math.floor((low + high) / 2_000) * 1_000
      if (shown(middle) > localMs) high = middle
      else low = middle
    }
    return high
  }
}
