// The ledger: one row per key that is running, backed off or quarantined; success deletes the row.
import type { Settlement } from '../job/outcome.ts'
import type { SqlExecutor } from './executor.ts'

/** One claim: the fence is equality of the holder and of this take number. */
export interface Claim {
  readonly job: string
  readonly key: string
  readonly take: number
}

/** What a take answers for one key. */
export interface TakeAnswer {
  readonly key: string
  /** `live`: somebody runs it; `later`: it is backed off for `waitMs`. */
  readonly verdict: 'taken' | 'live' | 'later' | 'quarantined'
  readonly waitMs: number
  readonly failures: number
  readonly crashes: number
}

/** The claims and the failure memory of all keys. */
export interface Ledger {
  /** Puts holder and take number on keys, each (job, key) at most once per call; refuses what may not start. */
  take(holder: string, claims: readonly Claim[]): Promise<TakeAnswer[]>
  /** Gives claims back; nothing is counted. */
  release(holder: string, claims: readonly Claim[]): Promise<void>
  /** Writes outcomes where holder and take match; returns the takes that were held. In `tx`, part of it. */
  settle(holder: string, rows: readonly (Claim & Settlement)[], tx?: SqlExecutor): Promise<Set<number>>
}
