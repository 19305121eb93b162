// Stop: no more pops → wait for what runs → abort it → give back what is left, nothing counted → leave (L8).
import { aborted, abortsAfter, untilAborted } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import type { Worker } from './worker.ts'

/** The loops of this process. */
export interface StoppingLoops {
  /** Ends those that begin work. */
  stopBeginning(): Promise<void>
  /** Ends all of them. */
  stop(): Promise<void>
}

/** How long handlers may take to end after they were aborted, before their keys are given back. */
const abortPatienceMs = 500

/**
 * `now` ends the wait: a second signal, or a grace that is over. Whatever hangs then (a check, a question, a round of a loop) is left to
 * itself: its claims are given back, and it can begin nothing.
 */
export async function stop(
  clock: Clock,
  loops: StoppingLoops,
  worker: Worker,
  graceMs: number,
  now: AbortSignal,
): Promise<void> {
  const done = new AbortController()
  const graceOver = abortsAfter(clock.sleep(graceMs, AbortSignal.any([now, done.signal])))
  try {
    await untilAborted(graceOver, loops.stopBeginning())
    await untilAborted(graceOver, worker.startNothing())
    await worker.idle(graceOver)
    worker.abortAll()
    const patience = clock.sleep(abortPatienceMs, done.signal)
    await worker.idle(abortsAfter(patience))
    // A worker that was idle before its grace was over has the rest of it for what is still under way.
    const enough = abortsAfter(Promise.all([aborted(graceOver), patience]))
    // The beat ends before the worker's row goes: it would take the missing row for a sign and register anew.
    await untilAborted(enough, loops.stop())
    await worker.giveBack(enough)
  } finally {
    done.abort()
  }
}
