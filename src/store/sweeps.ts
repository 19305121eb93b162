// Whose turn it is: one row per job; a pass belongs to who changed that row, by the store's clock.

export interface Turn {
  readonly job: string
  readonly term: number
  /** Where an unfinished pass stopped; null: from the beginning. */
  readonly cursor: string | null
}

export interface Sweeps {
  /** Wins the turns of those jobs whose sweep is due; that of a new job is due at once. */
  turn(holder: string, jobs: readonly string[]): Promise<Turn[]>
  /** Stores the cursor and keeps the turn; false: it is no longer ours. */
  advance(holder: string, turn: Turn, cursor: string): Promise<boolean>
  /** Ends the turn; the next one is due after `nextMs`, and begins at `cursor`. */
  end(holder: string, turn: Turn, cursor: string | null, nextMs: number): Promise<void>
}
