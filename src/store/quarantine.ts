// Keys that failed for good: what is known of them, and what a person does with them. What a person changes is written to the
// audit in the same statement.

/** Which quarantined keys. What is null filters nothing. */
export interface QuarantineWhere {
  /** A text in their error, in any case of letters. */
  readonly error: string | null
  /** Quarantined at or after, and before: epoch ms, or below zero so many ms ago, both on the store's clock. */
  readonly sinceMs: number | null
  readonly beforeMs: number | null
  readonly version: string | null
}

/** A key that failed for good. */
export interface QuarantinedKey {
  readonly job: string
  readonly key: string
  readonly version: string | null
  readonly failures: number
  readonly crashes: number
  /** Why, without secrets; in a list its first 300 characters. */
  readonly error: string | null
  readonly since: Date
}

/** A quarantined key with all that is known of it. */
export interface QuarantinedDetail extends QuarantinedKey {
  /** Its intent; null when the work is a row of the user's. */
  readonly intent: {
    /** JSON text, as it was stored. */
    readonly input: string
    readonly createdAt: Date
    readonly runAt: Date | null
    readonly uniqueKey: string | null
  } | null
}

/** What became of one key that somebody wanted to drop. `row`: it has no intent, its work is a row of the user's. */
export type DropVerdict = 'dropped' | 'row' | 'not_quarantined' | 'kept'

/** Quarantined keys of one job with the same error, but for numbers, ids and addresses in it. */
export interface ErrorGroup {
  readonly job: string
  /** The first line of the error; `<n>` stands for numbers, `<id>` for ids, `<address>` for e-mail addresses. */
  readonly error: string
  readonly count: number
  readonly firstAt: Date
  readonly lastAt: Date
  /** One of the keys. */
  readonly key: string
}

export interface StoreQuarantine {
  /** The next `limit` keys after `after`, by job and key; `where` defaults to all. */
  list(
    job: string | null,
    after: { job: string; key: string } | null,
    limit: number,
    where?: QuarantineWhere,
  ): Promise<QuarantinedKey[]>
  find(job: string, key: string): Promise<QuarantinedDetail | null>
  /** How many keys of each job are found; jobs without any are left out. `job` null: of all. */
  count(job: string | null, where: QuarantineWhere): Promise<{ job: string; count: number }[]>
  /** The errors of what is found, the most frequent first, `limit` at most. */
  errors(job: string | null, where: QuarantineWhere, limit: number): Promise<ErrorGroup[]>
  /** Forgets that these keys failed: they are new. Returns those that were quarantined. */
  release(job: string, keys: readonly string[], author: string): Promise<string[]>
  /** Deletes intents and what the ledger knows of them; nothing at all when one of the keys has no intent. */
  drop(job: string, keys: readonly string[], author: string): Promise<{ key: string; verdict: DropVerdict }[]>
}
