// The names of what happens, and what each event tells. Keys and counts only: never rows or secrets.

/** Every event of regrow; listen with `app.on(name, listener)`. */
export interface EventMap {
  /** An outcome was recorded. `state` is what the ledger holds now; `done` means nothing. */
  'job.settled': { job: string; key: string; state: 'done' | 'retrying' | 'quarantined'; error: string | null }
  /** A result came too late: the claim belonged to somebody else, and nothing was recorded. */
  'job.leaseLost': { job: string; key: string }
  /** Hints that the queue did not take; the rows are still there, the sweep will find them. */
  'hint.dropped': { count: number; error: unknown }
  /** A background loop failed one round and goes on. */
  'loop.failed': { loop: string; error: unknown }
}
