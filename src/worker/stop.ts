// Stop: no more pops → wait for what runs → abort it → give back what is left, nothing counted → leave (L8).
import type { Clock } from '../base/clock.ts'
import type { Watchdog } from '../base/watchdog.ts'
import type { Worker } from './worker.ts'

/** How long handlers may take to end after they were aborted, before their keys are given back. */
const abortPatienceMs = 500

/** `now` ends the wait: a second signal, or a grace that is over. */
export async function stop(
  clock: Clock,
  watchdog: Watchdog,
  worker: Worker,
  graceMs: number,
  now: AbortSignal,
): Promise<void> {
  await watchdog.stop('pop', 'sweep', 'own sweep', 'free')
  await worker.startNothing()
  const patience = new AbortController()
  const grace = clock.sleep(graceMs, AbortSignal.any([now, patience.signal])).then(() => patience.abort())
  await worker.idle(AbortSignal.any([now, patience.signal]))
  patience.abort()
  await grace
  worker.abortAll()
  const last = new AbortController()
  void clock.sleep(abortPatienceMs, last.signal).then(() => last.abort())
  await worker.idle(last.signal)
  last.abort()
  // The beat ends before the worker's row goes: it would take the missing row for a sign and register anew.
  await watchdog.stop()
  await worker.giveBack()
}
