// The living: one row per working process; claims live while their holder beats, only freeing ends them.

export interface WorkerIdentity {
  readonly holder: string
  readonly host: string
  readonly pid: number
  /** Names of the jobs it handles, each with a hash of its declaration. */
  readonly jobs: Readonly<Record<string, string>>
}

export interface FreedKey {
  readonly job: string
  readonly key: string
  /** Crashes so far. */
  readonly crashes: number
  /** Alone when it crashed: that is its own doing. `waited`: had not started, nothing was counted. */
  readonly why: 'crashed' | 'alone' | 'waited'
  readonly quarantined: boolean
}

export interface Freed {
  /** Workers that were declared dead. */
  readonly workers: number
  readonly keys: readonly FreedKey[]
  /** Keys that are no longer suspects, because the one that crashed with them was caught. */
  readonly pardoned: readonly { job: string; key: string }[]
}

export interface Workers {
  register(worker: WorkerIdentity, leaseMs: number): Promise<void>
  /** Returns false when this worker's row is gone: another process declared it dead. */
  beat(
    holder: string,
    known: readonly number[],
    highestTake: number,
    leaseMs: number,
    /** Slots of this worker that a handler keeps though its claim was given up. Defaults to 0. */
    stuck?: number,
    /** Claims of lower takes are known to be over: they are not looked at. Defaults to 0: all are. */
    lowestTake?: number,
  ): Promise<{ alive: boolean; givenBack: number }>
  /** Ends the claims of holders that no longer beat, and blames the crash on whoever ran alone. */
  free(leaseMs: number): Promise<Freed>
  /** `drained`: jobs of a drain that ends; when that was stays known. */
  leave(holder: string, drained?: readonly string[]): Promise<void>
}
