// When a schedule fires. In: cron text or a calendar interval in a zone, or an interval, with its bounds; out: instants that strictly increase.
// Pure: no clock, no store. A clock shift: a named hour in the gap fires at its end, in the overlap once, the first time;
// where the pattern has every hour, each hour that passes counts (docs/decisions/0037).

import { RegrowError } from '../base/errors.ts'
import { readCalendarText } from '../job/calendar-interval.ts'
import type { Calendar } from './calendar.ts'
import { calendarInterval } from './calendar-interval.ts'
import { calendar } from './cron.ts'
import { type Zone, zone } from './time-zone.ts'

const DAY_MS = 86_400_000
/** Least interval. */
export const EVERY_MIN_MS = 1_000
/** Greatest interval: a hundred years. */
const EVERY_MAX_MS = 36_525 * DAY_MS
const FIRST_MS = Date.UTC(1900, 0, 1)
const LAST_MS = Date.UTC(3000, 0, 1)

/** When a schedule fires: cron text in a zone, or an interval. */
export interface Pattern {
  /** The first instant after `afterMs` (ms since the epoch), strictly greater; null: there is none any more. */
  next(afterMs: number): number | null
  /** Whether this instant is one of the pattern's. */
  includes(atMs: number): boolean
  /**
   * The instants in (afterMs, untilMs], counted up to `max`; `more`: there are more than `max`. The newest `keep` of
   * those counted come in order. The cost is of `max`, not of the time between.
   */
  between(afterMs: number, untilMs: number, max: number, keep: number): Instants
}

/** What lies between two instants. */
export interface Instants {
  readonly count: number
  readonly more: boolean
  readonly newest: readonly number[]
}

/** What a pattern is made of: exactly one of `cron` and `everyMs`; bounds are inclusive. A calendar interval is a text in place of `cron`. */
export interface PatternSpec {
  readonly cron: string | null
  readonly everyMs: number | null
  readonly tz: string
  readonly startAtMs: number | null
  readonly endAtMs: number | null
}

/** The pattern of a schedule. Throws `RegrowError` `bad_schedule`: what was expected, what was found, what to do. */
export function pattern(spec: PatternSpec): Pattern {
  if ((spec.cron === null) === (spec.everyMs === null))
    throw new RegrowError(
      'bad_schedule',
      `a schedule has ${spec.cron === null ? 'neither cron nor every' : 'both cron and every'}`,
      "Give one of them: { cron: '0 3 * * *', tz: 'Europe/Berlin' } or { every: '5m' }.",
    )
  checkBounds(spec)
  const where = zone(spec.tz)
  const endless =
    spec.cron === null ? intervals(spec.everyMs as number, spec.startAtMs ?? 0) : onClocks(localTimes(spec.cron), where)
  const bounded = within(endless, spec.startAtMs, spec.endAtMs)
  if (spec.startAtMs !== null && spec.endAtMs !== null && bounded.next(spec.startAtMs - 1) === null)
    throw new RegrowError(
      'bad_schedule',
      `the schedule never fires between startAt (${iso(spec.startAtMs)}) and endAt (${iso(spec.endAtMs)})`,
      'Move the bounds apart, or change the pattern so that an instant lies between them.',
    )
  return bounded
}

function checkBounds({ startAtMs, endAtMs }: PatternSpec): void {
  for (const [name, ms] of [['startAt', startAtMs] as const, ['endAt', endAtMs] as const])
    if (ms !== null && !(ms >= FIRST_MS && ms <= LAST_MS))
      throw new RegrowError(
        'bad_schedule',
        `${name} is no date`,
        `Give a Date of the years 1900 to 2999: new Date('2030-01-01').`,
      )
  if (startAtMs !== null && endAtMs !== null && endAtMs < startAtMs)
    throw new RegrowError(
      'bad_schedule',
      `endAt (${iso(endAtMs)}) is before startAt (${iso(startAtMs)})`,
      'Both bounds are inclusive; give endAt a later date, or leave it out.',
    )
}

function localTimes(text: string): Calendar {
  const rule = readCalendarText(text)
  return rule ? calendarInterval(rule) : calendar(text)
}

const iso = (ms: number): string => new Date(ms).toISOString()

/** The three questions of a pattern, in terms of an endless one. */
interface Endless {
  next(afterMs: number): number | null
  between: Pattern['between']
}

function within(endless: Endless, startAtMs: number | null, endAtMs: number | null): Pattern {
  const lowMs = startAtMs === null ? FIRST_MS : startAtMs - 1
  const highMs = endAtMs ?? LAST_MS - 1
  const next = (afterMs: number): number | null => {
    const found = endless.next(Math.max(afterMs, lowMs))
    return found === null || found > highMs ? null : found
  }
  return {
    next,
    includes: (atMs) => Number.isFinite(atMs) && next(atMs - 1) === atMs,
    between: (afterMs, untilMs, max, keep) =>
      endless.between(Math.max(afterMs, lowMs), Math.min(untilMs, highMs), max, keep),
  }
}

/** Arithmetic only, aligned to `phaseMs`: a restart, a pause or a long sleep moves no instant. */
function intervals(everyMs: number, phaseMs: number): Endless {
  if (!Number.isSafeInteger(everyMs) || everyMs < EVERY_MIN_MS || everyMs > EVERY_MAX_MS)
    throw new RegrowError(
      'bad_schedule',
      `every is ${everyMs} ms`,
      "Give whole milliseconds from one second to a hundred years: '30s', '5m', '1d'. Work that never rests is a pending query, not a schedule.",
    )
  const numberAt = (ms: number): number => Math.floor((ms - phaseMs) / everyMs)
  return {
    next: (afterMs) => phaseMs + (numberAt(afterMs) + 1) * everyMs,
    between(afterMs, untilMs, max, keep) {
      const last = numberAt(untilMs)
      const all = Math.max(0, last - numberAt(afterMs))
      const count = Math.min(all, max)
      const newest = Array.from({ length: Math.min(count, keep) }, (_, i) => phaseMs + (last - i) * everyMs).reverse()
      return { count, more: all > max, newest }
    },
  }
}

function onClocks(local: Calendar, where: Zone): Endless {
  const next = local.everyHour
    ? (afterMs: number) => nextAsTimePasses(local, where, afterMs)
    : (afterMs: number) => nextOfNamedHours(local, where, afterMs)
  return { next, between: (afterMs, untilMs, max, keep) => backwards(next, afterMs, untilMs, max, keep) }
}

/**
 * Named hours are local times, each fires once: when the clocks first show it or have jumped over it. What they have
 * shown already, before an overlap, is not looked for again; so instants strictly increase.
 */
function nextOfNamedHours(local: Calendar, where: Zone, afterMs: number): number | null {
  const wanted = local.next(where.latestShown(afterMs))
  return wanted === null ? null : where.firstAt(wanted)
}

/** Every hour: the instants at which the clocks show a fitting time, twice in an overlap, never for times in a gap. */
function nextAsTimePasses(local: Calendar, where: Zone, afterMs: number): number | null {
  for (let cursor = afterMs; ; ) {
    const { toMs, offsetMs } = where.stretchAt(cursor + 1)
    const wanted = local.next(cursor + offsetMs)
    if (wanted === null) return null
    if (wanted - offsetMs < toMs) return wanted - offsetMs
    // Two days on, no shift brings back a time of before `cursor`: what lies until shortly before `wanted` is empty.
    cursor = toMs - 1 > cursor + 2 * DAY_MS ? Math.max(toMs - 1, wanted - 2 * DAY_MS) : toMs - 1
  }
}

const WINDOW_MIN_MS = 60_000
const WINDOW_STEPS_MAX = 512

/** Looks from the end in windows that grow while they hold little: thirty days of every second cost what `max` costs. */
function backwards(next: Endless['next'], afterMs: number, untilMs: number, max: number, keep: number): Instants {
  const windows: number[][] = []
  let found = 0
  let widthMs = WINDOW_MIN_MS
  for (let highMs = untilMs; highMs > afterMs && found <= max; ) {
    const lowMs = Math.max(afterMs, highMs - widthMs)
    const window: number[] = []
    const full = (): boolean => window.length > WINDOW_STEPS_MAX && widthMs > WINDOW_MIN_MS
    for (let at = next(lowMs); at !== null && at <= highMs && !full(); at = next(at)) window.push(at)
    if (full()) {
      // A quiet stretch let it grow over a burst (every second of 1 January): smaller, and again.
      widthMs = Math.max(WINDOW_MIN_MS, Math.floor(widthMs / 8))
      continue
    }
    windows.push(window)
    found += window.length
    if (window.length < 32) widthMs *= 4
    highMs = lowMs
  }
  const count = Math.min(found, max)
  return {
    count,
    more: found > max,
    newest: windows
      .reverse()
      .flat()
      .slice(found - Math.min(count, keep)),
  }
}
