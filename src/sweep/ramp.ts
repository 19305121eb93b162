// After a loss, or the end of a pause, everything would start at once. The first pass brings hints back slowly and then
// faster: a thousand at first, twice as many in each twentieth of a second that follows.

const first = 1_000
const doublesInMs = 50
/** By then there are 64,000, more than a lane holds by default: starts are no fewer for what still waits behind them. */
const overAfterMs = 300
/** How long to wait when no more may be pushed yet. */
export const rampStepMs = 20

/** Hints that the first pass may have pushed so long after everything came back (L9); null: it never did. */
export function allowedBy(sinceMs: number | null): number {
  if (sinceMs === null || sinceMs >= overAfterMs) return Number.POSITIVE_INFINITY
  return Math.floor(first * 2 ** (Math.max(0, sinceMs) / doublesInMs))
}
