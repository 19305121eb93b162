// A wait that ends when it is woken, when its time is over, or when a signal aborts: whichever comes first.
import type { Clock } from './clock.ts'
import { pledge } from './deferred.ts'
import { onAbort } from './on-abort.ts'

export interface WaitLimits {
  readonly signal?: AbortSignal | undefined
  /** Missing: however long it takes. */
  readonly timeout?: { readonly clock: Clock; readonly ms: number } | undefined
}

/** `begin` is given the function that wakes, and is called once the wait has begun; not at all when `signal` has aborted already. */
export async function waitUntilWoken(
  { signal, timeout }: WaitLimits,
  begin: (wake: () => void) => void,
): Promise<void> {
  if (signal?.aborted) return
  const { promise, resolve } = pledge()
  const stopTimer = timeout?.clock.after(timeout.ms, resolve)
  const forget = signal && onAbort(signal, resolve)
  begin(resolve)
  await promise
  stopTimer?.()
  forget?.()
}
