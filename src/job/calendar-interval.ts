// Calendar intervals: so many days, weeks, months or years by the clocks of a zone, counted from an anchor. They are stored as one text,
// where the cron text of other schedules stands: `every 2 weeks from 2026-01-05T09:00:00`.

/** So many days, weeks, months or years: exactly one of them. */
export type CalendarInterval =
  | { readonly days: number }
  | { readonly weeks: number }
  | { readonly months: number }
  | { readonly years: number }

export type CalendarUnit = 'days' | 'weeks' | 'months' | 'years'

/** The same, read. */
export interface CalendarRule {
  readonly count: number
  readonly unit: CalendarUnit
  /** Its first instant, as local time without a zone: `2026-01-05T09:00:00`. */
  readonly anchor: string
}

/** A hundred years of each. */
const most: Readonly<Record<CalendarUnit, number>> = { days: 36_525, weeks: 5_217, months: 1_200, years: 100 }
const units = Object.keys(most) as CalendarUnit[]

/** Midnight of a first of January; for weeks of a Monday. */
const defaultAnchor = (unit: CalendarUnit) => (unit === 'weeks' ? '1970-01-05T00:00:00' : '1970-01-01T00:00:00')

/** Reads what a user wrote as `every` and `anchor`; mistakes are sentences. */
export function readCalendarInterval(
  every: object,
  anchor: unknown,
): { readonly rule: CalendarRule; readonly mistakes: string[] } {
  const entries = Object.entries(every)
  const [unit, count] = (entries[0] ?? []) as [CalendarUnit, unknown]
  const standard: CalendarRule = { count: 1, unit: 'days', anchor: defaultAnchor('days') }
  if (entries.length !== 1 || !units.includes(unit))
    return {
      rule: standard,
      mistakes: [
        `\`schedule.every\` is ${JSON.stringify(every)}; expected exactly one of days, weeks, months and years, such as { weeks: 2 }`,
      ],
    }
  const mistakes: string[] = []
  const isCount = typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= most[unit]
  if (!isCount)
    mistakes.push(
      `\`schedule.every.${unit}\` is ${JSON.stringify(count) ?? String(count)}; expected a whole number from 1 to ${most[unit].toLocaleString('en-US')}`,
    )
  const from = anchor === undefined ? defaultAnchor(unit) : readAnchor(anchor)
  if (from === null)
    mistakes.push(
      `\`schedule.anchor\` is ${JSON.stringify(anchor) ?? String(anchor)}; expected a local date of the years 1900 to 2999, with or without a time and without a zone: '2026-01-31' or '2026-01-31T09:00'`,
    )
  return { mistakes, rule: { count: isCount ? count : 1, unit, anchor: from ?? defaultAnchor(unit) } }
}

function readAnchor(given: unknown): string | null {
  const text = typeof given === 'string' ? given : ''
  const [, date, hour = '00', minute = '00', second = '00'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text) ?? []
  const full = `${date}T${hour}:${minute}:${second}`
  const ms = Date.parse(`${full}Z`)
  // A date that no calendar has, such as 31 February, is read as another one.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== full) return null
  return full >= '1900' && full < '3000' ? full : null
}

export const calendarText = ({ count, unit, anchor }: CalendarRule): string => `every ${count} ${unit} from ${anchor}`

/** Null: it is a cron text. */
export function readCalendarText(text: string): CalendarRule | null {
  const [, count, unit, anchor] =
    /^every (\d{1,5}) (days|weeks|months|years) from (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)$/.exec(text) ?? []
  return anchor === undefined ? null : { count: Number(count), unit: unit as CalendarUnit, anchor }
}
