// Cron text, read strictly. In: five fields, six with seconds first, or a nickname; out: its calendar without zones
// (calendar.ts). What a clock shift does to a local time is zone.ts and pattern.ts (docs/decisions/0037).

import { RegrowError } from '../base/errors.ts'
import { type Calendar, calendarOf, type Day } from './calendar.ts'

/** Longest cron text. */
export const CRON_TEXT_MAX = 256

interface Field {
  readonly name: string
  readonly least: number
  readonly most: number
  readonly words?: readonly string[]
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const SECOND: Field = { name: 'second', least: 0, most: 59 }
const MINUTE: Field = { name: 'minute', least: 0, most: 59 }
const HOUR: Field = { name: 'hour', least: 0, most: 23 }
const DAY: Field = { name: 'day of month', least: 1, most: 31 }
const MONTH: Field = { name: 'month', least: 1, most: 12, words: MONTHS }
const WEEKDAY: Field = { name: 'day of week', least: 0, most: 7, words: DAYS }

const NICKNAMES: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

// Ten thousand schedules share a few texts.
const READ_KEPT = 500
const read = new Map<string, Calendar>()

/** The calendar of a cron text. Throws `bad_schedule`: which field, what it says, what it may say. */
export function calendar(text: string): Calendar {
  const known = read.get(text)
  if (known) return known
  const made = readText(text)
  if (read.size >= READ_KEPT) read.clear()
  read.set(text, made)
  return made
}

function readText(text: string): Calendar {
  if (typeof text !== 'string' || text.length > CRON_TEXT_MAX)
    throw bad(
      `cron is ${typeof text === 'string' ? `${text.length} characters long` : `a ${typeof text}`}`,
      `Write a text of at most ${CRON_TEXT_MAX} characters, such as '0 3 * * *'.`,
    )
  const [second, minute, hour, day, month, weekday] = fieldsOf(text) as SixTexts
  const numbers = (field: Field, given: string) => numbersOf(field, given, wrongIn(text, field, given))
  const made = calendarOf({
    seconds: numbers(SECOND, second),
    minutes: numbers(MINUTE, minute),
    hours: numbers(HOUR, hour),
    months: numbers(MONTH, month),
    isDay: dayRule(text, day, weekday),
  })
  if (made.next(0) === null)
    throw bad(
      `cron ${JSON.stringify(text)} never fires: no year has such a day`,
      'Look at day of month and month: 30 February and 31 April do not exist. The last day of a month is L.',
    )
  return made
}

type SixTexts = [second: string, minute: string, hour: string, day: string, month: string, weekday: string]

const FORM =
  "Write five fields (minute hour day-of-month month day-of-week), six with seconds first, or '@daily' and the like: '0 3 * * *' is 03:00 each day."

function bad(found: string, hint: string): RegrowError {
  return new RegrowError('bad_schedule', found, hint)
}

function fieldsOf(text: string): string[] {
  const trimmed = text.trim()
  if (trimmed.startsWith('@')) {
    const meant = NICKNAMES[trimmed.toLowerCase()]
    if (!meant)
      throw bad(
        `cron is ${JSON.stringify(text)}, a nickname nobody knows`,
        `Known are ${Object.keys(NICKNAMES).join(', ')}.`,
      )
    return ['0', ...meant.split(' ')]
  }
  const fields = trimmed === '' ? [] : trimmed.split(/\s+/)
  if (fields.length === 5) return ['0', ...fields]
  if (fields.length !== 6)
    throw bad(`cron ${JSON.stringify(text)} has ${fields.length} field${fields.length === 1 ? '' : 's'}`, FORM)
  return fields
}

type Wrong = (hint: string) => RegrowError

const wrongIn =
  (text: string, field: Field, given: string): Wrong =>
  (hint) =>
    bad(`cron ${JSON.stringify(text)}: the ${field.name} field says ${JSON.stringify(given)}`, hint)

type DayQuestion = (day: Day) => boolean

/** With both day fields restricted either is enough, as cron has always done. */
function dayRule(text: string, day: string, weekday: string): DayQuestion {
  const byDate = anyItem(day, dateItem, wrongIn(text, DAY, day))
  const byWeekday = anyItem(weekday, weekdayItem, wrongIn(text, WEEKDAY, weekday))
  const free = [day, weekday].some((field) => field === '*' || field === '?')
  return free ? (each) => byDate(each) && byWeekday(each) : (each) => byDate(each) || byWeekday(each)
}

function anyItem(given: string, read: (item: string, wrong: Wrong) => DayQuestion, wrong: Wrong): DayQuestion {
  const items = given.split(',').map((item) => read(item, wrong))
  return (day) => items.some((fits) => fits(day))
}

function dateItem(item: string, wrong: Wrong): DayQuestion {
  if (/^l$/i.test(item)) return ({ date, monthLength }) => date === monthLength
  if (/^lw$/i.test(item)) return (day) => day.date === nearestWeekday(day.monthLength, day)
  const [, near] = /^(\d{1,2})w$/i.exec(item) ?? []
  if (near !== undefined) {
    const wanted = numberOf(DAY, near, wrong)
    return (day) => wanted <= day.monthLength && day.date === nearestWeekday(wanted, day)
  }
  const dates = numbersOfItem(DAY, item, wrong)
  return ({ date }) => dates.includes(date)
}

/** The date of the weekday (Monday to Friday) nearest to a date, within the month that `of` is a day of. */
function nearestWeekday(date: number, of: Day): number {
  const weekday = (((of.weekday + date - of.date) % 7) + 7) % 7
  if (weekday === 6) return date === 1 ? date + 2 : date - 1
  if (weekday === 0) return date === of.monthLength ? date - 2 : date + 1
  return date
}

function weekdayItem(item: string, wrong: Wrong): DayQuestion {
  const [, name, which] = /^([a-z]{3}|\d)(#[1-5]|l)$/i.exec(item) ?? []
  if (name !== undefined && which !== undefined) {
    const wanted = numberOf(WEEKDAY, name, wrong) % 7
    if (!which.startsWith('#')) return ({ date, weekday, monthLength }) => weekday === wanted && date + 7 > monthLength
    return ({ date, weekday }) => weekday === wanted && Math.ceil(date / 7) === Number(which.slice(1))
  }
  const weekdays = numbersOfItem(WEEKDAY, item, wrong).map((number) => number % 7)
  return ({ weekday }) => weekdays.includes(weekday)
}

/** The numbers of a field, each once, in order. */
function numbersOf(field: Field, given: string, wrong: Wrong): number[] {
  const all = given.split(',').flatMap((item) => numbersOfItem(field, item, wrong))
  return [...new Set(all)].sort((a, b) => a - b)
}

function numbersOfItem(field: Field, item: string, wrong: Wrong): number[] {
  const match = /^(\*|\?|[a-z]+|\d+)(?:-([a-z]+|\d+))?(?:\/(\d+))?$/i.exec(item)
  if (!match || ((match[1] === '*' || match[1] === '?') && match[2] !== undefined)) throw wrong(allowed(field))
  const [, first, last, stepText] = match as unknown as [string, string, string?, string?]
  if (first === '?' && (stepText !== undefined || (field !== DAY && field !== WEEKDAY))) throw wrong(allowed(field))
  const step = stepText === undefined ? 1 : stepOf(field, stepText, wrong)
  if (first === '*' || first === '?') return span(field.least, field === WEEKDAY ? 6 : field.most, step)

  const low = numberOf(field, first, wrong)
  if (last === undefined) {
    if (stepText !== undefined) throw wrong(`A step needs a range: write ${first}-${field.most}/${stepText}.`)
    return [low]
  }
  // A week may end with Sunday (FRI-SUN), and begins with it otherwise.
  const end = numberOf(field, last, wrong)
  const high = field === WEEKDAY && end === 0 && low > 0 ? 7 : end
  if (low > high)
    throw wrong(
      `A range goes upwards. Write it as two: ${first}-${field === WEEKDAY ? 6 : field.most},${field.least}-${last}.`,
    )
  return span(low, high, step)
}

function span(low: number, high: number, step: number): number[] {
  const numbers: number[] = []
  for (let each = low; each <= high; each += step) numbers.push(each)
  return numbers
}

function numberOf(field: Field, text: string, wrong: Wrong): number {
  const word = field.words?.indexOf(text.toLowerCase()) ?? -1
  const value = word >= 0 ? word + (field === WEEKDAY ? 0 : field.least) : Number(text)
  if (!/^\d{1,2}$/.test(String(value)) || value < field.least || value > field.most) throw wrong(allowed(field))
  return value
}

function stepOf(field: Field, text: string, wrong: Wrong): number {
  const most = field === WEEKDAY ? 7 : field.most - field.least + 1
  const step = Number(text)
  if (step < 1 || step > most) throw wrong(`A step of the ${field.name} field is 1 to ${most}.`)
  return step
}

function allowed(field: Field): string {
  const words = field.words
    ? ` or ${(field.words[0] as string).toUpperCase()} to ${(field.words.at(-1) as string).toUpperCase()}`
    : ''
  const also =
    field === DAY
      ? ', L (the last day), LW, 15W'
      : field === WEEKDAY
        ? ', MON#2 (the second Monday), FRIL (the last Friday)'
        : ''
  return `Expected ${field.least} to ${field.most}${words}, *, ranges (a-b), steps (*/n, a-b/n) and lists of these${also}.`
}
