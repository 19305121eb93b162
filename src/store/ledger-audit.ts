// The slow audit of the ledger: rows of keys that are long not pending. Small words, so that the decision stays outside.

/** What the ledger holds of a key, as the audit needs it. */
export interface AuditRow {
  readonly key: string
  /** Backed off and held by nobody: the only kind that the audit may forget. */
  readonly waiting: boolean
  /** How long it has not changed. */
  readonly idleMs: number
  /** Since when an audit found it not pending; null: none did. */
  readonly unseenMs: number | null
}

/** What an audit decided of a job's keys. */
export interface AuditVerdicts {
  /** Long gone: their rows are deleted, if nothing changed since. */
  readonly forget: readonly string[]
  /** Not pending for the first time. */
  readonly unseen: readonly string[]
  /** Pending again. */
  readonly seen: readonly string[]
}

export interface Audits {
  /** Rows of a job in the order of their keys. */
  page(job: string, after: string | null, limit: number): Promise<AuditRow[]>
  /** Writes the verdicts, each only where nobody has the key; returns how many were forgotten. */
  write(job: string, verdicts: AuditVerdicts): Promise<number>
}
