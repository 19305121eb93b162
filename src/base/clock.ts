// Time enters here and nowhere else. Local time only measures durations; what is due is decided by the store's clock.

import { onAbort } from './on-abort.ts'

/** The only source of time. Tests and the simulator bring their own. */
export interface Clock {
  /** Monotonic milliseconds since some fixed point; never compared between processes. */
  now(): number
  /** Wall clock in epoch milliseconds; for ids and log lines, never for a decision. */
  wall(): number
  /** Resolves after `ms`, or as soon as `signal` aborts; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `then` after `ms`; what it returns ends that. For a wait that is mostly ended early it is cheaper than `sleep`. */
  after(ms: number, then: () => void, options?: AfterOptions): () => void
  /** Resolves once everything that is ready now has run; lets work gather into a batch. */
  gather(): Promise<void>
}

export interface AfterOptions {
  /** Does not keep the process alive. Defaults to false. */
  readonly background?: boolean
}

/** The longest delay a Node timer can hold; longer sleeps are cut there, loops simply tick once more. */
const longestTimerMs = 2_147_483_647

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        forget?.()
        resolve()
      }
      const timer = setTimeout(done, Math.min(Math.max(ms, 0), longestTimerMs))
      const forget = signal && onAbort(signal, done)
    }),
  after: (ms, then, { background = false } = {}) => {
    const timer = setTimeout(then, Math.min(Math.max(ms, 0), longestTimerMs))
    if (background) timer.unref()
    return () => clearTimeout(timer)
  },
  gather: () => new Promise((resolve) => setImmediate(resolve)),
}
