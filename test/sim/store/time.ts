// Times as Postgres keeps them: whole microseconds. Here they are epoch milliseconds with three decimals, and every sum is
// rounded as the server rounds it, so that answers are alike to the last digit.
import { sqlError } from './sql-error.ts'

/** Rounds halves to the even neighbour, as the server's rint does. */
function even(value: number): number {
  const rounded = Math.round(value)
  return Math.abs(value % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded
}

/** Microseconds of an interval that is given in ms: `make_interval(secs => ms / 1000)`. */
function interval(ms: number): number {
  const micros = even((ms / 1_000) * 1_000_000)
  if (Math.abs(micros) < 2 ** 63) return micros
  throw sqlError('22008', 'interval out of range')
}

/** Microseconds of an instant. */
const micros = (at: number) => Math.round(at * 1_000)

/** An instant of a clock, in whole microseconds. */
export const instant = (ms: number): number => micros(ms) / 1_000

/** An instant and a length in ms; infinite instants stay what they are. */
export const plus = (at: number, ms: number): number => (Number.isFinite(at) ? (micros(at) + interval(ms)) / 1_000 : at)

/** True for an instant that a clock wrote which is set back since. */
export const isAheadOf = (at: number, now: number): boolean => at > plus(now, 10_000)

/** How long `to` is after `from`, in ms. */
export function since(to: number, from: number): number {
  // Before Postgres 17 there is no such interval.
  if (!Number.isFinite(to) || !Number.isFinite(from)) throw sqlError('22008', 'cannot subtract infinite timestamps')
  return (micros(to) - micros(from)) / 1_000
}

/** The same in seconds, as the server divides. */
export const sinceSeconds = (to: number, from: number): number => (micros(to) - micros(from)) / 1_000_000

/** The same day and time in another year, in UTC; the 29th of February becomes the 28th where there is none. */
export function plusYears(at: number, years: number): number {
  const date = new Date(Math.floor(at))
  const rest = at - Math.floor(at)
  const month = date.getUTCMonth()
  date.setUTCFullYear(date.getUTCFullYear() + years)
  if (date.getUTCMonth() !== month) date.setUTCDate(0)
  return instant(date.getTime() + rest)
}
