// The view: a disposable set of hints. Push side and pop side are apart; a push-only queue needs only the first.
import type { Hint, PoppedHint, Pushed } from './hint.ts'

export interface PushQueue {
  /** Adds hints. A fresh one makes an existing hint sooner, others leave it alone. */
  push(hints: readonly Hint[]): Promise<Pushed>
}

export interface PopRequest {
  /** Jobs whose handler the popper has. */
  readonly jobs: readonly string[]
  /** Hints at most, over all jobs. */
  readonly limit: number
  /** How long to wait for the first hint; 0 answers at once. */
  readonly waitMs: number
}

export interface PopQueue {
  /** Removes and returns due hints, fresh ones first; empty when nothing came due in time or `signal` aborted. */
  pop(request: PopRequest, signal: AbortSignal): Promise<{ readonly hints: readonly PoppedHint[] }>
}

export interface Queue extends PushQueue, PopQueue {}
