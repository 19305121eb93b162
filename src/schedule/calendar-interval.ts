// The local times of a calendar interval, without zones. In: its rule; out: the next local time. What a clock shift does to a local time
// is zone.ts and pattern.ts, as for cron texts that name hours.
import type { CalendarRule } from '../job/calendar-interval.ts'
import type { Calendar } from './calendar.ts'

const DAY_MS = 86_400_000

/** Each local time is counted from the anchor, not from the one before: a month that is too short moves none of those after it. */
export function calendarInterval({ count, unit, anchor }: CalendarRule): Calendar {
  const anchorMs = Date.parse(`${anchor}Z`)
  const at =
    unit === 'days' || unit === 'weeks'
      ? evenly(anchorMs, count * (unit === 'weeks' ? 7 : 1) * DAY_MS)
      : monthly(anchorMs, count * (unit === 'years' ? 12 : 1))
  return {
    everyHour: false,
    next(localMs) {
      let number = Math.max(0, at.numberBefore(localMs))
      while (at.localMs(number) <= localMs) number++
      return at.localMs(number)
    },
  }
}

interface Steps {
  /** Local time of the step of this number; the anchor is number 0. */
  localMs(number: number): number
  /** A step before this local time or at it, and not many before the last such. */
  numberBefore(localMs: number): number
}

const evenly = (anchorMs: number, stepMs: number): Steps => ({
  localMs: (number) => anchorMs + number * stepMs,
  numberBefore: (localMs) => Math.floor((localMs - anchorMs) / stepMs),
})

function monthly(anchorMs: number, months: number): Steps {
  const anchor = new Date(anchorMs)
  const timeMs = anchorMs % DAY_MS < 0 ? (anchorMs % DAY_MS) + DAY_MS : anchorMs % DAY_MS
  const firstMonth = monthOf(anchor)
  return {
    localMs(number) {
      const month = firstMonth + number * months
      const [year, index] = [Math.floor(month / 12), month % 12]
      const length = new Date(Date.UTC(year, index + 1, 0)).getUTCDate()
      // The 31st is the last day of a shorter month, and the 31st again in the next longer one.
      return Date.UTC(year, index, Math.min(anchor.getUTCDate(), length)) + timeMs
    },
    numberBefore: (localMs) => Math.floor((monthOf(new Date(localMs)) - firstMonth) / months) - 1,
  }
}

const monthOf = (date: Date) => date.getUTCFullYear() * 12 + date.getUTCMonth()
