// Waits that a signal ends.

/** Resolves when `signal` aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Waits for `work` until `signal` aborts; what comes of it later is ignored. */
export const untilAborted = async (signal: AbortSignal, work: Promise<unknown>): Promise<void> =>
  void (await Promise.race([work, aborted(signal)]))

/** A signal that aborts when `wait` is over. */
export function abortsAfter(wait: Promise<unknown>): AbortSignal {
  const controller = new AbortController()
  void wait.then(() => controller.abort())
  return controller.signal
}
