// Durations as people write them: '250ms', '30s', '5m', '2h', '1d', or a number of milliseconds.
import { RegrowError } from './errors.ts'
import { kindOfValue } from './suggest.ts'

/** Milliseconds, or a number with a unit: `'250ms'`, `'30s'`, `'5m'`, `'2h'`, `'1d'`. More than 36,500 days is cut to that. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A hundred years. A longer duration is cut to this: it comes from a hostile header or a typing error, and Postgres may refuse it. */
export const durationMaxMs = 36_500 * 86_400_000

/** To the microsecond, which is what a store can tell apart: the smallest of numbers are no numbers to every server. */
const bounded = (ms: number) => Math.round(Math.min(ms, durationMaxMs) * 1_000) / 1_000

/** Milliseconds of a duration, at most `durationMaxMs`; throws a `RegrowError` that says what a duration looks like. */
export function milliseconds(duration: Duration | string, what = 'a duration'): number {
  if (typeof duration === 'number' && Number.isFinite(duration) && duration >= 0) return bounded(duration)
  const match = typeof duration === 'string' ? /^(\d{1,12}(?:\.\d{1,6})?)\s?(ms|s|m|h|d)$/.exec(duration) : null
  if (!match)
    throw new RegrowError(
      'bad_duration',
      `${what} is ${typeof duration === 'number' ? duration : typeof duration === 'string' ? JSON.stringify(duration) : kindOfValue(duration)}`,
      `Write milliseconds as a number, or a number with a unit: '250ms', '30s', '5m', '2h', '1d'.`,
    )
  return bounded(Number(match[1]) * (unitMs[match[2] as string] as number))
}

/** A duration in few characters, for people: `1.4s`, `3m 20s`, `2h 5m`. */
export function readable(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')}s`
  const seconds = Math.round(ms / 1_000)
  const [days, hours, minutes, rest] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ]
  const parts = [days && `${days}d`, hours && `${hours}h`, minutes && `${minutes}m`, rest && `${rest}s`]
  return parts.filter(Boolean).slice(0, 2).join(' ')
}
