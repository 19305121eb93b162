// What is in quarantine, counted: how many keys a filter finds, and which errors brought them there.

/** Which quarantined keys. What is null filters nothing. */
export interface QuarantineWhere {
  /** A text in their error, in any case of letters. */
  readonly error: string | null
  /** Quarantined at or after, and before: epoch ms, or below zero so many ms ago, both on the store's clock. */
  readonly sinceMs: number | null
  readonly beforeMs: number | null
  readonly version: string | null
}

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

export interface Census {
  /** How many keys of each job are found; jobs without any are left out. `job` null: of all. */
  count(job: string | null, where: QuarantineWhere): Promise<{ job: string; count: number }[]>
  /** The errors of what is found, the most frequent first, `limit` at most. */
  errors(job: string | null, where: QuarantineWhere, limit: number): Promise<ErrorGroup[]>
}
