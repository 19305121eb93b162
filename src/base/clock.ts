// Time enters here and nowhere else. Local time only measures durations; what is due is decided by the store's clock.

/** The only source of time. Tests and the simulator bring their own. */
export interface Clock {
  /** Monotonic milliseconds since some fixed point; never compared between processes. */
  now(): number
  /** Resolves after `ms`, or as soon as `signal` aborts; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done)
    }),
}
