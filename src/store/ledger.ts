// The ledger: one row per key that is running, backed off or quarantined; success deletes the row.
import type { SqlQuery } from '../job/pending.ts'
import type { Row, SqlExecutor, Statement, Together } from './sql-client.ts'

/** One claim: the fence is equality of the holder and of this take number. */
export interface Claim {
  readonly job: string
  readonly key: string
  readonly take: number
}

/** What a take answers for one key. `gone`: the holder is not registered (any more). `suspect`: it may only run alone. */
export interface TakeAnswer {
  readonly job: string
  readonly key: string
  readonly verdict: 'taken' | 'live' | 'later' | 'quarantined' | 'suspect' | 'gone'
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

export interface Standing {
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

/** The claims and the failure memory of all keys. */
export interface Ledger {
  /** Puts holder and take number on keys, each (job, key) at most once per call; refuses what may not start. Answers in their order. */
  take(holder: string, claims: readonly Claim[], options?: TakeOptions): Promise<TakeAnswer[]>
  /**
   * A take of keys of which nothing is remembered and their check right behind it, in one round trip; the check begins when the take has
   * committed (S2). Null: a key is remembered, or nobody expects otherwise, and nothing was taken. `checked`: null where the check
   * failed. With `removal`, which takes the hint of the one key out of its queue before that: 'gone' when somebody else has done
   * so, and nothing was taken. Missing where the store cannot.
   */
  takeThenCheck?(
    holder: string,
    claims: readonly Claim[],
    check: SqlQuery,
    removal?: SqlQuery,
  ): Promise<{ readonly checked: { rows: Row[] } | null } | 'gone' | null>
  /** A suspect that was taken begins its run; from now on a crash is its own. False: another process runs one of that job. */
  alone(holder: string, claim: Claim): Promise<boolean>
  /** Gives claims back; nothing is counted. */
  release(holder: string, claims: readonly Claim[]): Promise<void>
  /**
   * Writes outcomes where holder and take match, each take once; returns the takes that were held. In `tx` it is its last statement: where
   * the client can, the COMMIT goes with it, unless one of them is not held (S4).
   */
  settle(holder: string, rows: readonly SettleRow[], tx?: SqlExecutor): Promise<Set<number>>
  /**
   * Successes and their effects in one transaction and one round trip: all of them, or an error and nothing (S4). The effects must be
   * short: each has a time limit. Missing where the store cannot; rows are all of one kind of work, and none is a slot.
   */
  settleWith?(holder: string, rows: readonly SettleRow[], effects: readonly Statement[]): Promise<Together>
  /** Holds claims until `tx` ends, settling nothing; returns the takes that are held. */
  fence(holder: string, claims: readonly Claim[], tx: SqlExecutor): Promise<Set<number>>
  /** Forgets back-off and quarantine of keys whose source shows another version; returns the keys cleared. */
  clear(job: string, rows: readonly { key: string; version: string }[]): Promise<string[]>
  /** Writes what came of runs that had no claim, where nothing is known of their keys; returns the keys written. */
  remember(rows: readonly Omit<SettleRow, 'take' | 'finish'>[]): Promise<string[]>
  /** What the ledger holds of these keys. */
  standing(job: string, keys: readonly string[]): Promise<Standing[]>
}
