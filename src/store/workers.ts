// The living: one row per working process; claims live while their holder beats, only freeing ends them.

export interface WorkerIdentity {
  readonly holder: string
  readonly host: string
  readonly pid: number
  /** Names of the jobs it handles, each with a hash of its declaration. */
  readonly jobs: Readonly<Record<string, string>>
}

export interface Workers {
  register(worker: WorkerIdentity, leaseMs: number): Promise<void>
  /** Returns false when this worker's row is gone: another process declared it dead. */
  beat(
    holder: string,
    known: readonly number[],
    highestTake: number,
    leaseMs: number,
  ): Promise<{ alive: boolean; givenBack: number }>
  /** Ends the claims of holders that no longer beat; returns what was freed. */
  free(leaseMs: number): Promise<{ workers: number; keys: { job: string; key: string }[] }>
  leave(holder: string): Promise<void>
}
