// Every awaited call ends: with its result, its error, or this one (S16).
import type { Clock } from './clock.ts'
import { readable } from './duration.ts'
import { RegrowError } from './errors.ts'

/** Waits for `work` at most `ms`; what comes of it later is ignored. */
export function withDeadline<T>(clock: Clock, ms: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const met = clock.after(ms, () =>
      reject(
        new RegrowError(
          'deadline',
          `${what} did not answer within ${readable(ms)}`,
          'Is the server reachable, and not overloaded?',
        ),
      ),
    )
    work.then(
      (value) => {
        met()
        resolve(value)
      },
      (error) => {
        met()
        reject(error)
      },
    )
  })
}
