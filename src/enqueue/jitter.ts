// Jitter: some time in the next 30 minutes, or between two durations. It lives in the queue only, and may be lost with it.
import { milliseconds } from '../base/duration.ts'
import { RegrowError } from '../base/errors.ts'
import type { Random } from '../base/random.ts'
import type { Jitter } from '../job/declaration.ts'

/** Returns a function that draws one delay per hint. */
export function jitterOf(random: Random, jitter: Jitter | undefined): () => number {
  if (jitter === undefined) return () => 0
  const [from, to] = Array.isArray(jitter)
    ? [milliseconds(jitter[0], '`jitter`'), milliseconds(jitter[1], '`jitter`')]
    : [0, milliseconds(jitter as number, '`jitter`')]
  if (to < from)
    throw new RegrowError(
      'bad_duration',
      `\`jitter\` ends (${to} ms) before it begins (${from} ms)`,
      `Write the shorter one first: ['5m', '30m'].`,
    )
  return () => from + random.float() * (to - from)
}
