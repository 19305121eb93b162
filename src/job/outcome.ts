// What came of one run, and what that means for the ledger. Decided purely; the settle writes it.
import { messageOf } from '../base/errors.ts'
import { type Random, spread } from '../base/random.ts'

/** How a job retries. */
export interface RetryPolicy {
  readonly attemptsMax: number
  /** The wait after the first failure; it doubles with each further one. */
  readonly backoffMs: number
}

/** How one run ended. */
export type Outcome = { readonly kind: 'success' } | { readonly kind: 'failure'; readonly error: unknown }

/** What the settle writes: `done` leaves nothing in the ledger. */
export interface Settlement {
  readonly state: 'done' | 'retrying' | 'quarantined'
  readonly failures: number
  readonly retryMs: number
  readonly error: string | null
}

/** The settlement of a success. */
export const done: Settlement = { state: 'done', failures: 0, retryMs: 0, error: null }

const backoffMaxMs = 3_600_000

/** What to write for a key that had failed `before` times. */
export function decide(before: number, outcome: Outcome, policy: RetryPolicy, random: Random): Settlement {
  if (outcome.kind === 'success') return done
  const failures = before + 1
  const backoffMs = Math.min(policy.backoffMs * 2 ** before, backoffMaxMs)
  return {
    // S6: a poison row stops at its attempts.
    state: failures >= policy.attemptsMax ? 'quarantined' : 'retrying',
    failures,
    retryMs: Math.round(spread(random, backoffMs, 0.25)),
    error: messageOf(outcome.error),
  }
}
