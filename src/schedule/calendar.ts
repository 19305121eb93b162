// The calendar of a cron text, without zones. In: what each field means; out: the next local time that fits. It walks months
// with the days that fit, then hours, minutes and seconds; what a clock shift does to a local time is zone.ts and pattern.ts.

const DAY_MS = 86_400_000
/** The calendar repeats itself after 400 years: a day that none of them has does not exist. */
const CYCLE_MONTHS = 400 * 12

/** What a cron text says of local times. */
export interface Calendar {
  /** Every hour of the day is in it: it means "each hour that passes", not "these hours of the clock". */
  readonly everyHour: boolean
  /** The first local time after `localMs` that fits; null: no year has such a day. */
  next(localMs: number): number | null
}

/** A day of a month, as the day fields are asked about it. */
export interface Day {
  /** 1 to 31. */
  readonly date: number
  /** 0 (Sunday) to 6. */
  readonly weekday: number
  /** How many days its month has. */
  readonly monthLength: number
}

/** The fields of a cron text. Numbers are in order, months are 1 to 12. */
export interface CronFields {
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly months: readonly number[]
  readonly isDay: (day: Day) => boolean
}

export function calendarOf(fields: CronFields): Calendar {
  const daysOf = lastAnswer((month) => daysOfMonth(fields, month))
  const firstTime = timeFrom(fields, 0) as number
  return {
    everyHour: fields.hours.length === 24,
    next(localMs) {
      // Local times are whole seconds.
      const fromMs = (Math.floor(localMs / 1_000) + 1) * 1_000
      const today = new Date(fromMs)
      const midnight = Math.floor(fromMs / DAY_MS) * DAY_MS
      const month = today.getUTCFullYear() * 12 + today.getUTCMonth()
      const date = today.getUTCDate()
      const time = daysOf(month).includes(date) ? timeFrom(fields, (fromMs - midnight) / 1_000) : null
      if (time !== null) return midnight + time * 1_000
      const later = daysOf(month).find((day) => day > date)
      if (later !== undefined) return midnight + (later - date) * DAY_MS + firstTime * 1_000
      for (let each = month + 1; each <= month + CYCLE_MONTHS; each++) {
        const [first] = daysOf(each)
        if (first !== undefined) return Date.UTC(Math.floor(each / 12), each % 12, first) + firstTime * 1_000
      }
      return null
    },
  }
}

/** The days of a month that fit, in order. Months are counted from the year 0. */
function daysOfMonth({ months, isDay }: CronFields, month: number): readonly number[] {
  if (!months.includes((month % 12) + 1)) return []
  const firstMs = Date.UTC(Math.floor(month / 12), month % 12, 1)
  const monthLength = (Date.UTC(Math.floor(month / 12), (month % 12) + 1, 1) - firstMs) / DAY_MS
  const firstWeekday = new Date(firstMs).getUTCDay()
  const days: number[] = []
  for (let date = 1; date <= monthLength; date++)
    if (isDay({ date, weekday: (firstWeekday + date - 1) % 7, monthLength })) days.push(date)
  return days
}

/** The first second of the day, at `second` or after it, that fits; null: none on this day. */
function timeFrom({ hours, minutes, seconds }: CronFields, second: number): number | null {
  const [hour, minute] = [Math.floor(second / 3_600), Math.floor(second / 60) % 60]
  const from = (numbers: readonly number[], least: number) => numbers.find((each) => each >= least)
  const [firstMinute, firstSecond] = [minutes[0] as number, seconds[0] as number]
  if (hours.includes(hour)) {
    const inMinute = minutes.includes(minute) ? from(seconds, second % 60) : undefined
    if (inMinute !== undefined) return hour * 3_600 + minute * 60 + inMinute
    const laterMinute = from(minutes, minute + 1)
    if (laterMinute !== undefined) return hour * 3_600 + laterMinute * 60 + firstSecond
  }
  const laterHour = from(hours, hour + 1)
  return laterHour === undefined ? null : laterHour * 3_600 + firstMinute * 60 + firstSecond
}

/** A schedule of each second asks for the same month again and again. */
function lastAnswer<T>(ask: (question: number) => T): (question: number) => T {
  let known: { question: number; answer: T } | undefined
  return (question) => {
    if (known?.question !== question) known = { question, answer: ask(question) }
    return known.answer
  }
}
