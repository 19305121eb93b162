// Forgetting a job that was removed from the code: what the store holds of it goes, in one step.

/** What the store held of a job. */
export interface JobTraces {
  /** Keys that wait for a retry, or are claimed by a worker that died. */
  readonly remembered: number
  readonly quarantined: number
  readonly intents: number
  readonly swept: boolean
  readonly paused: boolean
}

export interface Forgetting {
  /**
   * Deletes the job's sweep, pause, ledger rows and, with `all`, its intents and quarantined keys; ends its part of an open heal.
   * `done` false: nothing was deleted, since a live worker declares it, it has schedules that have not ended, without `all` it has
   * intents or quarantined keys, or there is nothing of it.
   */
  forget(
    job: string,
    leaseMs: number,
    all: boolean,
    author: string,
  ): Promise<JobTraces & { readonly done: boolean; readonly live: number; readonly schedules: readonly string[] }>
}
