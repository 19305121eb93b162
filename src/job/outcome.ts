// What came of one run, and what that means for the ledger. Decided purely; the settle writes it.
import { errorText } from '../base/error-text.ts'
import { messageOf, RegrowError } from '../base/errors.ts'
import { type Chance, spread } from '../base/random.ts'
import { redact } from '../base/redact.ts'

/** How a job retries. */
export interface RetryPolicy {
  readonly attemptsMax: number
  readonly backoff: 'exponential' | 'fixed'
  readonly backoffMs: number
  readonly backoffMaxMs: number
}

/** How one run ended. */
export type Outcome =
  | { readonly kind: 'success' }
  /** `together`: how many keys may share the next call, after a batch that threw. */
  | { readonly kind: 'failure'; readonly error: unknown; readonly together?: number }
  | { readonly kind: 'again'; readonly inMs: number }
  | { readonly kind: 'quarantine'; readonly reason: string }

/** In the place of an outcome that could not be decided or written: it holds nothing of the handler's. */
export function refused(cause: unknown): Outcome {
  const error = new RegrowError(
    'outcome_refused',
    `The outcome of this run could not be written: ${messageOf(cause)}`,
    'What it asked for is not recorded, and this counts as a failure of the run. Look at the error or reason that the handler gave.',
  )
  error.stack = error.message
  return { kind: 'failure', error }
}

/** What the ledger knew of the key when it was taken, and the version the check saw. */
export interface History {
  readonly failures: number
  readonly crashes: number
  readonly ledgerVersion: string | null
  readonly version: string | null
  /** How many keys may share its call; null: any number. */
  readonly together: number | null
}

/** What the settle writes: nothing is left of a success. */
export type Settlement =
  | { readonly state: 'done' }
  | {
      readonly state: 'retrying' | 'quarantined'
      readonly failures: number
      readonly crashes: number
      readonly retryMs: number
      readonly error: string | null
      readonly together: number | null
    }

/** A different non-null version is new work: the failures of the old one do not count against it. */
function priorFailures(history: History): { failures: number; crashes: number } {
  const renewed =
    history.version !== null && history.ledgerVersion !== null && history.version !== history.ledgerVersion
  return renewed ? { failures: 0, crashes: 0 } : { failures: history.failures, crashes: history.crashes }
}

/** The number of this run, from 1: what failed and what crashed before, plus this one (S5: what ended is counted). */
export function attemptOf(history: History): number {
  const { failures, crashes } = priorFailures(history)
  return failures + crashes + 1
}

/** Of a success. */
export const done: Settlement = { state: 'done' }

export function decide(history: History, outcome: Outcome, policy: RetryPolicy, random: Chance): Settlement {
  if (outcome.kind === 'success') return done
  const prior = priorFailures(history)
  switch (outcome.kind) {
    case 'again':
      return { state: 'retrying', ...prior, retryMs: outcome.inMs, error: null, together: history.together }
    case 'quarantine':
      return { state: 'quarantined', ...prior, retryMs: 0, error: storable(errorText(outcome.reason)), together: null }
    case 'failure': {
      const failures = prior.failures + 1
      // S6: a poison row stops at its attempts.
      const state = failures >= policy.attemptsMax ? 'quarantined' : 'retrying'
      const retryMs = backoffMs(policy, failures, random)
      const error = storable(errorText(outcome.error))
      return { state, failures, crashes: prior.crashes, retryMs, error, together: outcome.together ?? null }
    }
  }
}

/** The wait after the n-th failure, ± 25 %. The ledger keeps it, so no loss of the queue shortens it (S7). */
export function backoffMs(policy: RetryPolicy, failures: number, random: Chance): number {
  const steps = policy.backoff === 'fixed' ? 0 : Math.min(failures - 1, 40)
  return Math.round(spread(random, Math.min(policy.backoffMs * 2 ** steps, policy.backoffMaxMs), 0.25))
}

const errorBytesMax = 8192

/** Error text as it may be stored: without secrets, without NUL, at most 8 KiB. */
export function storable(text: string): string {
  const clean = redact(text).replaceAll('\0', '').toWellFormed()
  const bytes = Buffer.from(clean)
  return bytes.length <= errorBytesMax
    ? clean
    : `${bytes
        .subarray(0, errorBytesMax - 8)
        .toString('utf8')
        .replace(/\uFFFD$/, '')}…`
}
