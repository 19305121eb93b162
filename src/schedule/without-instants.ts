// A pattern without instants that have run already. In: the pattern, and those instants. Out: a pattern that passes over them. They
// come from a clock that was ahead and is set back since: an instant runs once, whatever the clock does (S9).
import type { Pattern } from './pattern.ts'

/** Whether an instant is in the pattern stays as it is: its slot is there. */
export function withoutInstants(pattern: Pattern, instants: readonly number[]): Pattern {
  if (instants.length === 0) return pattern
  const left = new Set(instants)
  return {
    next(afterMs) {
      let at = pattern.next(afterMs)
      while (at !== null && left.has(at)) at = pattern.next(at)
      return at
    },
    includes: (atMs) => pattern.includes(atMs),
    between(afterMs, untilMs, max, keep) {
      const found = pattern.between(afterMs, untilMs, max, keep + left.size)
      const skipped = instants.filter((at) => at > afterMs && at <= untilMs && pattern.includes(at)).length
      const newest = found.newest.filter((at) => !left.has(at))
      return {
        ...found,
        count: Math.max(newest.length, found.count - skipped),
        newest: newest.slice(Math.max(0, newest.length - keep)),
      }
    },
  }
}
