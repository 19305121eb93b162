// Every awaited call ends: with its result, its error, or this one (S16).
import type { Clock } from './clock.ts'
import { readable } from './duration.ts'
import { RegrowError } from './errors.ts'

/** Waits for `work` at most `ms`; what comes of it later is ignored. */
export async function withDeadline<T>(clock: Clock, ms: number, what: string, work: Promise<T>): Promise<T> {
  const done = new AbortController()
  const late = clock.sleep(ms, done.signal).then((): never | undefined => {
    // Nobody listens any more, and an error with its stack costs more than the rest of this.
    if (done.signal.aborted) return undefined
    throw new RegrowError(
      'deadline',
      `${what} did not answer within ${readable(ms)}`,
      'Is the server reachable, and not overloaded?',
    )
  })
  late.catch(() => {})
  try {
    // `late` only ends the race by throwing: it returns when `work` has won.
    return (await Promise.race([work, late])) as T
  } finally {
    done.abort(null)
  }
}
