// Every background thing is this loop: `tick(signal)` does one round and returns the delay to the next.
// An error becomes an event and a longer delay, never a dead loop.
import type { Clock } from './clock.ts'
import { type Random, spread } from './random.ts'

/** What a loop does. */
export interface LoopSpec {
  readonly name: string
  /** One round; returns the milliseconds until the next one. */
  tick(signal: AbortSignal): Promise<number>
}

export interface LoopSurroundings {
  readonly clock: Clock
  readonly random: Random
  readonly failed: (loop: string, error: unknown) => void
}

const errorDelayMs = 100
const errorDelayMaxMs = 3_000

/** Runs rounds until `signal` aborts; resolves when the last one is over. */
export async function loop(spec: LoopSpec, { clock, random, failed }: LoopSurroundings, signal: AbortSignal) {
  let errors = 0
  while (!signal.aborted) {
    let delayMs: number
    try {
      delayMs = await spec.tick(signal)
      errors = 0
    } catch (error) {
      failed(spec.name, error)
      delayMs = spread(random, Math.min(errorDelayMs * 2 ** errors++, errorDelayMaxMs), 0.25)
    }
    await clock.sleep(delayMs, signal)
  }
}
