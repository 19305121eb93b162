// Cron text, read strictly. In: five fields, six with seconds first, or a nickname; out: the next local time that fits,
// in a calendar without zones. croner searches that calendar, on UTC and nothing else; what a clock shift does to a
// local time is zone.ts and pattern.ts (docs/decisions/0037).

import { Cron } from 'croner'
import { RegrowError } from '../base/errors.ts'

/** Longest cron text. */
export const CRON_TEXT_MAX = 256

/** What a cron text says of local times. */
export interface Calendar {
  /** Every hour of the day is in it: it means "each hour that passes", not "these hours of the clock". */
  readonly everyHour: boolean
  /** The first local time after `localMs` that fits; null: none until the year 3000. */
  next(localMs: number): number | null
}

interface Field {
  readonly name: string
  readonly least: number
  readonly most: number
  readonly words?: readonly string[]
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const HOUR: Field = { name: 'hour', least: 0, most: 23 }
const DAY: Field = { name: 'day of month', least: 1, most: 31 }
const WEEKDAY: Field = { name: 'day of week', least: 0, most: 7, words: DAYS }
const FIELDS: readonly Field[] = [
  { name: 'second', least: 0, most: 59 },
  { name: 'minute', least: 0, most: 59 },
  HOUR,
  DAY,
  { name: 'month', least: 1, most: 12, words: MONTHS },
  WEEKDAY,
]

const NICKNAMES: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

// Ten thousand schedules share a few texts, and croner's tables of one take 160 KB for a moment.
const READ_KEPT = 500
const read = new Map<string, Calendar>()

/** The calendar of a cron text. Throws `bad_schedule`: which field, what it says, what it may say. */
export function calendar(text: string): Calendar {
  const known = read.get(text)
  if (known) return known
  const made = calendarOf(text)
  if (read.size >= READ_KEPT) read.clear()
  read.set(text, made)
  return made
}

function calendarOf(text: string): Calendar {
  if (typeof text !== 'string' || text.length > CRON_TEXT_MAX)
    throw bad(
      `cron is ${typeof text === 'string' ? `${text.length} characters long` : `a ${typeof text}`}`,
      `Write a text of at most ${CRON_TEXT_MAX} characters, such as '0 3 * * *'.`,
    )
  const fields = fieldsOf(text)
  const plain = fields.map((given, i) => plainField(text, FIELDS[i] as Field, given))
  const everyHour = hoursOf(plain[2] as string) === 24
  let cron: Cron
  try {
    cron = new Cron(plain.join(' '), { mode: '6-part', utcOffset: 0, paused: true })
  } catch (error) {
    throw new RegrowError('bad_schedule', `cron ${JSON.stringify(text)} cannot be read`, FORM, error)
  }
  // croner ends a search after 400 years, the length of the calendar's cycle: a few milliseconds.
  const next = (localMs: number): number | null => cron.nextRun(new Date(localMs))?.getTime() ?? null
  if (next(0) === null)
    throw bad(
      `cron ${JSON.stringify(text)} never fires: no year has such a day`,
      'Look at day of month and month: 30 February and 31 April do not exist. The last day of a month is L.',
    )
  return { everyHour, next }
}

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

/** A field in numbers only. croner reads more loosely (`5*` is 5 to it), so nothing reaches it that is not read here. */
function plainField(text: string, field: Field, given: string): string {
  const wrong = (hint: string): RegrowError =>
    bad(`cron ${JSON.stringify(text)}: the ${field.name} field says ${JSON.stringify(given)}`, hint)
  if (field === DAY && /^lw$/i.test(given)) return 'LW'
  return given
    .split(',')
    .map((item) => plainItem(field, item, wrong))
    .join(',')
}

type Wrong = (hint: string) => RegrowError

function plainItem(field: Field, item: string, wrong: Wrong): string {
  if (field === DAY && /^l$/i.test(item)) return 'L'
  const nearestWeekday = field === DAY ? /^(\d{1,2})w$/i.exec(item) : null
  if (nearestWeekday) return `${numberOf(field, nearestWeekday[1] as string, wrong)}W`
  const nth = field === WEEKDAY ? /^([a-z]{3}|\d)(#[1-5]|l)$/i.exec(item) : null
  if (nth) return `${numberOf(field, nth[1] as string, wrong) % 7}${(nth[2] as string).toUpperCase()}`

  const match = /^(\*|\?|[a-z]+|\d+)(?:-([a-z]+|\d+))?(?:\/(\d+))?$/i.exec(item)
  if (!match || ((match[1] === '*' || match[1] === '?') && match[2] !== undefined)) throw wrong(allowed(field))
  const [, first, last, step] = match as unknown as [string, string, string?, string?]
  if (first === '?' && (step !== undefined || (field !== DAY && field !== WEEKDAY))) throw wrong(allowed(field))
  const stepText = step === undefined ? '' : `/${stepOf(field, step, wrong)}`
  if (first === '*' || first === '?') return `*${stepText}`

  const low = numberOf(field, first, wrong)
  if (last === undefined) {
    if (step !== undefined) throw wrong(`A step needs a range: write ${first}-${field.most}/${step}.`)
    return String(field === WEEKDAY ? low % 7 : low)
  }
  // A week may end with Sunday (FRI-SUN), and begins with it otherwise.
  const end = numberOf(field, last, wrong)
  const high = field === WEEKDAY && end === 0 && low > 0 ? 7 : end
  if (low > high)
    throw wrong(
      `A range goes upwards. Write it as two: ${first}-${field === WEEKDAY ? 6 : field.most},${field.least}-${last}.`,
    )
  return `${low}-${high}${stepText}`
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

/** How many hours a field in numbers names. */
function hoursOf(field: string): number {
  const hours = new Set<number>()
  for (const item of field.split(',')) {
    const [range, step] = item.split('/') as [string, string?]
    const [low, high] = range === '*' ? [HOUR.least, HOUR.most] : range.split('-').map(Number)
    for (let hour = low as number; hour <= (high ?? (low as number)); hour += Number(step ?? 1)) hours.add(hour)
  }
  return hours.size
}
