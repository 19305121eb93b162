// Whose turn it is: one row per job; a pass belongs to who changed that row, by the store's clock. The row also remembers
// what its passes found.
import type { UnusableKeys } from '../job/key.ts'

export interface Turn {
  readonly job: string
  readonly term: number
  /** Where an unfinished pass stopped; null: from the beginning. */
  readonly cursor: string | null
  /** Since the job's last audit; null: never audited. */
  readonly auditedMs: number | null
  /** Nothing is to be hinted: the pass only counts. */
  readonly paused: boolean
  /** Since everything came back at once, by a loss of the queue or the end of a pause; null: never. */
  readonly rampedMs: number | null
  /** The turn before ended because the queue was full. */
  readonly full: boolean
  /** Turns that failed in a row before this one. */
  readonly errors: number
  /** The store's time, in ms. */
  readonly atMs: number
  /** A few keys that were pending, each with the store's time since when they are known to be. */
  readonly sample: Sample
}

/** What a worker declares of a job's sweep. */
export interface DeclaredSweep {
  readonly job: string
  readonly everyMs: number
  /** Of the job's declaration. Left out: the one that the row has stays. */
  readonly fingerprint?: string
}

/** Keys and since when, in ms of the store's clock. */
export type Sample = Readonly<Record<string, number>>

export interface TurnEnd {
  readonly cursor: string | null
  readonly nextMs: number
  readonly error: string | null
  readonly seen: number
  /** Of these, rows that the turn which goes on does not see again. Defaults to all. */
  readonly passed?: number
  readonly pushed: number
  readonly held: number
  /** Rows before the cursor whose text cannot be a key. Defaults to none. */
  readonly unusable?: UnusableKeys | null
  readonly tookMs: number
  /** Of `pushed`, those that advances have told already. Defaults to 0. */
  readonly counted?: number
  /** Hints that the queue had no room for. Defaults to 0. */
  readonly dropped?: number
  /** The pass reached the end of the pending rows. Defaults to false. */
  readonly finished?: boolean
  /** What the queue lost is back, as far as it has room. Defaults to false. */
  readonly broughtBack?: boolean
  /** Pending rows by the planner, where a pass does not reach the end. */
  readonly estimate?: number | null
  /** How long the pending row that waits longest is known to have waited; null: nothing waits. */
  readonly oldestMs?: number | null
  readonly sample?: Sample
  /** The ledger of the job was audited in this turn. Defaults to false. */
  readonly audited?: boolean
  /** The interval of the sweep, by which `nextMs` was chosen. Defaults to the one that was declared. */
  readonly everyMs?: number
}

/** A turn with what it found. */
export interface EndedTurn {
  readonly turn: Pick<Turn, 'job' | 'term'>
  readonly end: TurnEnd
}

/** A loss of the queue whose last pass has ended. */
export interface Healed {
  readonly epoch: number
  /** Hints that were brought back. */
  readonly pushed: number
  /** Since the loss was noticed. */
  readonly tookMs: number
}

export interface Sweeps {
  /**
   * Makes sure that each job has a row; a new one is due at once. So is one whose row has another fingerprint: its pass begins anew, and
   * `holder` has the turn until it asks for it. `due`: all of them are due.
   */
  declare(jobs: readonly DeclaredSweep[], options?: { readonly holder?: string; readonly due?: boolean }): Promise<void>
  /**
   * Wins turns of jobs that are due, `max` at most; also one that the holder has already and asks for, since it does not know
   * of it. How long until the next one is; whose pause has run out; and which jobs are missing: they have to be declared again.
   * A job whose sweep is due later than its interval allows is due now: the store's clock was set back (L10).
   */
  turn(
    holder: string,
    jobs: readonly string[],
    max: number,
  ): Promise<{ turns: Turn[]; nextMs: number; pausesOver: readonly string[]; missing: readonly string[] }>
  /**
   * Stores the cursor and keeps the turn; false: it is no longer ours. `pushed`: hints since the last time, which the end of
   * the turn then names as `counted`. Defaults to 0.
   */
  advance(holder: string, turn: Turn, cursor: string | null, pushed?: number): Promise<boolean>
  /** Ends turns, those that are still the holder's. Answers the losses of the queue that are healed by them, mostly none. */
  end(holder: string, ends: readonly EndedTurn[]): Promise<Healed[]>
  /**
   * The next pass of these jobs begins now; `anew`: from the beginning, instead of one that is under way; `ramped`: much comes
   * back at once, so its hints are pushed slowly at first (L9).
   */
  makeDue(jobs: readonly string[], options?: { anew?: boolean; ramped?: boolean }): Promise<void>
  /** Counts runs that ended well while their rows stayed pending, and no version tells whether that is new work. */
  noProgress(job: string, count: number): Promise<void>
}
