// Whose turn it is: one row per job; a pass belongs to who changed that row, by the store's clock.

export interface Turn {
  readonly job: string
  readonly term: number
  /** Where an unfinished pass stopped; null: from the beginning. */
  readonly cursor: string | null
  /** Since the job's last audit; null: never audited. */
  readonly auditedMs: number | null
}

export interface TurnEnd {
  readonly cursor: string | null
  readonly nextMs: number
  readonly error: string | null
  readonly seen: number
  readonly pushed: number
  readonly held: number
  readonly tookMs: number
  /** The ledger of the job was audited in this turn. Defaults to false. */
  readonly audited?: boolean
}

export interface Sweeps {
  /** Makes sure that each job has a row; a new one is due at once. */
  declare(jobs: readonly string[]): Promise<void>
  /** Wins turns of jobs that are due, `max` at most, and says how long until the next one is. */
  turn(holder: string, jobs: readonly string[], max: number): Promise<{ turns: Turn[]; nextMs: number }>
  /** Stores the cursor and keeps the turn; false: it is no longer ours. */
  advance(holder: string, turn: Turn, cursor: string): Promise<boolean>
  end(holder: string, turn: Turn, end: TurnEnd): Promise<void>
  /** The next pass of these jobs begins now, from the beginning. */
  makeDue(jobs: readonly string[]): Promise<void>
}
