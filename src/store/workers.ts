// The living: one row per working process; claims live while their holder beats, only freeing ends them.

export interface Workers {
  register(holder: string): Promise<void>
  /** Gives back claims of takes that are not `known`; false when this worker's row is gone: it was declared dead. */
  beat(holder: string, known: readonly number[], highestTake: number): Promise<boolean>
  /** Ends the claims of holders that have not beaten for a lease; returns what was freed. */
  free(leaseMs: number): Promise<{ job: string; key: string }[]>
}
