// What recurs, as a job declares it, and the identity of one of its instants. A slot's key has the schedule's version in it:
// after an edit an old hint starts nothing (M16).
import { type Duration, milliseconds } from '../base/duration.ts'
import { messageOf, RegrowError } from '../base/errors.ts'
import { unknownOptions } from '../base/suggest.ts'
import { type CalendarInterval, calendarText, readCalendarInterval } from './calendar-interval.ts'
import type { KeyCodec } from './key.ts'

/** When a job recurs. Exactly one of `cron` and `every`. */
export interface ScheduleOptions {
  /** Five fields, or six with seconds first: `0 3 * * *`. */
  cron?: string
  /**
   * Elapsed time, a second or more, counted from the epoch, or from `startAt`: `'90m'`. Or a calendar interval by the clocks of `tz`:
   * `{ days: 1 }`, `{ weeks: 2 }`, `{ months: 1 }`, `{ years: 1 }`. Restarts move neither.
   */
  every?: Duration | CalendarInterval
  /** The zone that `cron` and calendar intervals are read in. Not for elapsed time, which is the same everywhere. Defaults to UTC. */
  tz?: string
  /**
   * First instant of a calendar interval, as local time in `tz`: `'2026-01-31T09:00'`. Others are counted from it; a 31st is the last day of
   * shorter months. Defaults to midnight of 1 January 1970, for weeks of the Monday after it.
   */
  anchor?: string
  /**
   * What becomes of instants that passed while nobody could run them: the last of them runs (`'once'`, default), none does
   * (`'skip'`, with a minute's grace), or the last so many (`{ all: 10 }`). The others are recorded as skipped.
   */
  missed?: 'once' | 'skip' | { readonly all: number }
  /** While an earlier slot runs, the next one is skipped (`'skip'`, default), waits (`'queue'`), or runs beside it (`'allow'`). */
  overlap?: 'skip' | 'queue' | 'allow'
  /** Each slot starts some time in so long after its instant. Defaults to none. */
  jitter?: Duration
  /** No instant before this one. Defaults to none. */
  startAt?: Date
  /** No instant after this one. Defaults to none. */
  endAt?: Date
}

/** The same, with every default filled in. Times are epoch ms. */
export interface Recurrence {
  /** Cron text, or the text of a calendar interval. */
  readonly cron: string | null
  readonly everyMs: number | null
  readonly tz: string
  /** 'once', 'skip', or 'all' and how many: 'all 10'. */
  readonly missed: string
  readonly overlap: 'skip' | 'queue' | 'allow'
  readonly jitterMs: number
  readonly startAtMs: number | null
  readonly endAtMs: number | null
}

/** One instant of a schedule, as its handler gets it. */
export interface Slot {
  /** Name of the schedule; that of the job, where its declaration has the schedule. */
  readonly schedule: string
  /** The instant itself, not the time at which the run began. */
  readonly at: Date
  /** Raised by every edit of the schedule. */
  readonly version: number
}

const known = ['cron', 'every', 'tz', 'anchor', 'missed', 'overlap', 'jitter', 'startAt', 'endAt']
/** So many missed slots at most run one after the other. */
const allMax = 1_000
/** Longer than a year is no recurrence that a queue should wait for. */
const dayMs = 86_400_000

/** Reads what somebody wrote; every mistake is found, none is thrown. Whether the cron text fires at all, others know. */
export function readSchedule(given: unknown, where: string): { recurrence: Recurrence; mistakes: string[] } {
  const mistakes: string[] = []
  const wrong = (sentence: string) => mistakes.push(`${where}: ${sentence}`)
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
  if (!isObject)
    wrong(
      `\`schedule\` is ${JSON.stringify(given)}; expected an object such as { cron: '0 3 * * *', tz: 'Europe/Berlin' }`,
    )
  const options = (isObject ? given : { cron: '0 0 * * *' }) as ScheduleOptions
  mistakes.push(...unknownOptions(options, known, `${where}, \`schedule\``))
  const duration = (value: unknown, what: string): number | null => {
    if (value === undefined) return null
    try {
      return milliseconds(value as number, `\`${what}\``)
    } catch (error) {
      wrong(messageOf(error).replace('\n  → ', '. '))
      return null
    }
  }
  const instant = (value: unknown, what: string): number | null => {
    if (value === undefined) return null
    if (value instanceof Date && !Number.isNaN(value.getTime())) return value.getTime()
    wrong(`\`schedule.${what}\` is ${JSON.stringify(value) ?? String(value)}; expected a Date`)
    return null
  }
  const { cron, every, tz = 'UTC', missed = 'once', overlap = 'skip' } = options
  if ((cron === undefined) === (every === undefined))
    wrong(
      cron === undefined
        ? "`schedule` has neither `cron` nor `every`; it needs one of them: { cron: '0 3 * * *' } or { every: '1h' }"
        : '`schedule` has `cron` and `every`; it needs exactly one of them',
    )
  if (cron !== undefined && typeof cron !== 'string')
    wrong(`\`schedule.cron\` is ${JSON.stringify(cron)}; expected text`)
  if (typeof cron === 'string' && /^\s*every\b/i.test(cron))
    wrong(`\`schedule.cron\` is ${JSON.stringify(cron)}; an interval is written as \`every\`: '90m' or { weeks: 2 }`)
  const calendar = typeof every === 'object' && every !== null ? readCalendarInterval(every, options.anchor) : undefined
  for (const mistake of calendar?.mistakes ?? []) wrong(mistake)
  if (!calendar && options.anchor !== undefined)
    wrong(
      '`schedule.anchor` goes with a calendar interval such as every: { months: 1 }; elapsed time counts from `startAt`',
    )
  if (!calendar && every !== undefined && options.tz !== undefined)
    wrong(
      `\`schedule.tz\` does not go with every: ${JSON.stringify(every)}, which is elapsed time and the same in every zone; remove it, or write a calendar interval such as every: { days: 1 }`,
    )
  if (typeof tz !== 'string') wrong(`\`schedule.tz\` is ${JSON.stringify(tz)}; expected a zone such as 'Europe/Berlin'`)
  if (!['skip', 'queue', 'allow'].includes(overlap))
    wrong(`\`schedule.overlap\` is ${JSON.stringify(overlap)}; expected 'skip', 'queue' or 'allow'`)
  const all = typeof missed === 'object' && missed !== null ? missed.all : undefined
  const counted = all !== undefined && Number.isInteger(all) && all >= 1 && all <= allMax
  if (!counted && missed !== 'once' && missed !== 'skip')
    wrong(`\`schedule.missed\` is ${JSON.stringify(missed)}; expected 'once', 'skip' or { all: 1 … ${allMax} }`)
  const jitterMs = duration(options.jitter, 'schedule.jitter') ?? 0
  if (jitterMs > dayMs) wrong('`schedule.jitter` is longer than a day')
  return {
    mistakes,
    recurrence: {
      cron: calendar ? calendarText(calendar.rule) : typeof cron === 'string' ? cron.trim().replace(/\s+/g, ' ') : null,
      everyMs: calendar ? null : duration(every, 'schedule.every'),
      tz: typeof tz === 'string' ? tz : 'UTC',
      missed: counted ? `all ${all}` : missed === 'skip' ? 'skip' : 'once',
      overlap,
      jitterMs: Math.round(jitterMs),
      startAtMs: instant(options.startAt, 'startAt'),
      endAtMs: instant(options.endAt, 'endAt'),
    },
  }
}

/** schedule@version@instant: names have no @. */
export const slotKey = (schedule: string, version: number, slotMs: number) =>
  `${schedule}@${version}@${new Date(slotMs).toISOString()}`

function slotText(value: unknown): string {
  const { schedule, version, at } = value as Partial<Slot>
  if (typeof schedule !== 'string' || !Number.isInteger(version) || !(at instanceof Date)) throw notASlot(value)
  return slotKey(schedule, version as number, at.getTime())
}

/** Keys of slots; a handler gets the slot itself. */
export const slotCodec: KeyCodec = {
  shape: 'text',
  columns: [{ name: null, type: 'text' }],
  encode: slotText,
  // Names of schedules are short: a slot is always a key.
  textOf: slotText,
  decode(text): Slot {
    const [, schedule, version, at] = /^([^@]+)@(\d{1,10})@([^@]+)$/.exec(text) ?? []
    const instant = new Date(at ?? '')
    if (schedule === undefined || Number.isNaN(instant.getTime())) throw notASlot(text)
    return { schedule, at: instant, version: Number(version) }
  },
  join: ([only]) => only as string,
  split: (text) => [text],
}

const notASlot = (found: unknown) =>
  new RegrowError(
    'bad_key',
    `Expected the key of a slot (schedule@version@instant), found ${String(JSON.stringify(found)).slice(0, 80)}`,
    '`regrow schedules show <name>` lists the slots of a schedule.',
  )
