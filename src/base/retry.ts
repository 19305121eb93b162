// Repeats a call while its error says that another try can help, with growing, jittered waits.
import type { Clock } from './clock.ts'
import { type Random, spread } from './random.ts'

export interface RetryChoice {
  /** Wait before the second try; doubled up to 20 times its value. */
  readonly delayMs: number
  /** Asked after each failure, with the number of tries so far. */
  readonly again: (error: unknown, tries: number) => boolean
  /** Ends the waiting; the last error is thrown. */
  readonly signal?: AbortSignal
}

export async function retry<T>(clock: Clock, random: Random, choice: RetryChoice, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (choice.signal?.aborted || !choice.again(error, tries)) throw error
      await clock.sleep(spread(random, choice.delayMs * Math.min(2 ** (tries - 1), 20), 0.25), choice.signal)
      if (choice.signal?.aborted) throw error
    }
  }
}
