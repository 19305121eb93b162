// The ledger: one row per key that is running, backed off or quarantined; success deletes the row.
import type { BuiltStatement } from '../job/pending.ts'
import type { Receipt } from '../job/receipt.ts'
import type { Checked, Source } from './source.ts'
import type { StoreTransaction } from './transaction.ts'

/** One claim: the fence is equality of the holder and of this take number. */
export interface Claim {
  readonly job: string
  readonly key: string
  readonly take: number
}

/** What a take answers for one key. `lease_lost`: the holder is not registered (any more). `suspect`: it may only run alone. */
export interface TakeAnswer {
  readonly job: string
  readonly key: string
  readonly verdict: 'taken' | 'running' | 'not_due' | 'quarantined' | 'suspect' | 'lease_lost'
  /** How long until a key that was refused may start; 0 for one that was taken. */
  readonly waitMs: number
  readonly failures: number
  readonly crashes: number
  readonly version: string | null
  /** How many keys may share its next call; null: any number. */
  readonly together: number | null
}

/** Which of regrow's own rows a success ends. */
export type Finish = 'intent' | 'slot'

/** What a settle writes for one claim. */
export interface SettleRow extends Claim {
  readonly state: 'done' | 'retrying' | 'quarantined'
  readonly version: string | null
  readonly failures: number
  readonly crashes: number
  readonly retryMs: number
  readonly error: string | null
  /** How many keys may share its next call; none or null: any number. */
  readonly together?: number | null
  /** What success does besides: it removes the key's intent, or records its slot as run. */
  readonly finish: Finish | null
  /** It succeeded, and left its row pending: a failure that only who remembers failures can count. Defaults to false. */
  readonly noProgress?: boolean
}

export interface LedgerEntry {
  readonly key: string
  readonly live: boolean
  readonly quarantined: boolean
  readonly waitMs: number
  readonly version: string | null
}

export interface TakeOptions {
  /** Suspects too, for a run of their own; refused while another process has one of that job. */
  readonly suspects?: boolean
}

/** Claims and checks keys in one round trip. */
export interface OneTripClaims {
  /**
   * Takes keys that the ledger does not remember, and checks them in a snapshot that begins after the take has committed (S2). With a
   * receipt (see `Source.redeems`) it first removes the hint of the one key from the queue, and takes nothing if the hint is gone. Null: nothing was
   * taken, because the ledger remembers a key, or may; the caller takes and checks in two steps.
   */
  claim(
    holder: string,
    source: Source,
    claims: readonly Claim[],
    receipt?: Receipt,
  ): Promise<OneTripAnswer | 'gone' | null>
}

/** All keys were taken. `checked` null: the check failed. */
export interface OneTripAnswer {
  readonly checked: Checked | null
}

/** What statements of effects answered, and how long the server worked on them. */
export interface SharedAnswers {
  readonly answers: readonly { readonly rows: Record<string, unknown>[] }[]
  readonly tookMs: number
}

/** Settles runs together with their effects. */
export interface SharedCommits {
  /**
   * Successes and their effects in one transaction and one round trip: all of them, or an error and nothing (S4). Effects must be
   * short: each has a time limit. All rows are of one kind of work, and none is a slot.
   */
  settle(holder: string, rows: readonly SettleRow[], effects: readonly BuiltStatement[]): Promise<SharedAnswers>
}

/** The claims and the failure memory of all keys. */
export interface Ledger {
  /** Missing where the store needs two steps. */
  readonly oneTrip?: OneTripClaims | undefined
  /** Missing where the store cannot share a transaction between runs. */
  readonly shared?: SharedCommits | undefined
  /**
   * Puts holder and take number on keys, each (job, key) at most once per call; refuses what may not start. Answers in their order.
   * Keys and take numbers both ascend; a store may rely on it (M30).
   */
  take(holder: string, claims: readonly Claim[], options?: TakeOptions): Promise<TakeAnswer[]>
  /** A suspect that was taken begins its run; from now on a crash is its own. False: another process runs one of that job. */
  alone(holder: string, claim: Claim): Promise<boolean>
  /** Gives claims back; nothing is counted. */
  release(holder: string, claims: readonly Claim[]): Promise<void>
  /**
   * Writes outcomes where holder and take match, each take once; returns the takes that were held. In `tx` it is its last statement: where
   * the client can, the COMMIT goes with it, unless one of them is not held (S4).
   */
  settle(holder: string, rows: readonly SettleRow[], tx?: StoreTransaction): Promise<Set<number>>
  /** Holds claims until `tx` ends, settling nothing; returns the takes that are held. */
  fence(holder: string, claims: readonly Claim[], tx: StoreTransaction): Promise<Set<number>>
  /** Forgets back-off and quarantine of keys whose source shows another version; returns the keys cleared. */
  clear(job: string, rows: readonly { key: string; version: string }[]): Promise<string[]>
  /** Writes what came of runs that had no claim, where nothing is known of their keys; returns the keys written. */
  remember(rows: readonly Omit<SettleRow, 'take' | 'finish'>[]): Promise<string[]>
  /** What the ledger holds of these keys. */
  standing(job: string, keys: readonly string[]): Promise<LedgerEntry[]>
}
