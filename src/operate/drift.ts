// Truth against view, per job and in its three kinds. Decided purely, from what the last sweep wrote down and from what the
// queue holds now: no query of the user's is run for it.
import type { JobStatus, QueueStatus } from './status.ts'

/** How far a job's hints and claims are from its rows. */
export interface Drift {
  /** Rows without hint or claim, in the last turn of the sweep: hints it had to push, and hints the queue had no room for. */
  readonly pendingWithoutHint: { readonly pushed: number; readonly left: number }
  /**
   * Hints beyond what is pending: as many at least start nothing. Rows that came up since the last whole pass count, too.
   * Null: nobody can tell, because pending rows are an estimate or not counted yet, or the queue is another process's.
   */
  readonly hintsWithoutRow: number | null
  /** Claims whose worker is gone or silent. */
  readonly claimsWithoutOwner: number
}

export function drift({ sweep, hints, intents, quarantined, unowned, pause }: JobStatus, queue: QueueStatus): Drift {
  const pending = sweep?.pending ?? null
  const tellable = hints !== null && pending !== null && !pending.estimated && queue.shared
  return {
    // A paused job has no hints on purpose.
    pendingWithoutHint: pause ? { pushed: 0, left: 0 } : { pushed: sweep?.pushed ?? 0, left: sweep?.dropped ?? 0 },
    // Intents are counted now, and may be more than the last pass saw. What is in quarantine has no hint.
    hintsWithoutRow: tellable
      ? Math.max(0, hints.due + hints.delayed - Math.max(0, Math.max(pending.count, intents) - quarantined))
      : null,
    claimsWithoutOwner: unowned?.count ?? 0,
  }
}
