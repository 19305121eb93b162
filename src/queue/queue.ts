// The view: a disposable set of hints. Push side and pop side are apart; a push-only queue needs only the first.
import type { Hint, PoppedHint, Pushed } from './hint.ts'

export interface PushQueue {
  /** Adds hints, each (job, key) at most once per call. A fresh one makes an existing hint sooner, others leave it alone. */
  push(hints: readonly Hint[]): Promise<Pushed>
}

export interface PopRequest {
  /**
   * Jobs whose handler the popper has, each with the number of keys it has room for. They may be served in this order:
   * who pops again and again names another one first each time.
   */
  readonly jobs: readonly { readonly job: string; readonly limit: number }[]
  /** Hints at most, over all jobs. */
  readonly limit: number
  /** How long to wait for the first hint; 0 answers at once. */
  readonly waitMs: number
}

export interface PopQueue {
  /** Removes and returns due hints, fresh ones first; empty when nothing came due in time or `signal` aborted. */
  pop(request: PopRequest, signal?: AbortSignal): Promise<Popped>
}

export interface Popped {
  readonly hints: readonly PoppedHint[]
  /** The canary as it was at this pop; null when there is none: the queue is new or was lost. */
  readonly mark: Mark | null
}

/** The canary: what queue and store both remember. A difference means that the queue was lost or rolled back. */
export interface Mark {
  readonly epoch: number
  readonly sequence: number
}

export interface HintCount {
  readonly due: number
  readonly delayed: number
}

export interface Queue extends PushQueue, PopQueue {
  readonly name: string
  /** False when each process has a queue of its own (memory). */
  readonly shared: boolean
  /** Puts a mark there, whatever was there before. */
  writeMark(mark: Mark): Promise<void>
  /** Changes the mark it finds and returns true; where there is none it does nothing and returns false (M41). */
  moveMark(mark: Mark): Promise<boolean>
  /** Hints of these jobs, by job. */
  count(jobs: readonly string[]): Promise<ReadonlyMap<string, HintCount>>
  /** Throws everything away, the mark included; returns how many hints were lost. */
  wipe(): Promise<number>
  close(): Promise<void>
}
