// Calls when a signal aborts, for any number of callers: each signal gets one listener, however many wait for it. Node prints a
// warning when a signal has more than ten, and with two hundred jobs as many batches may wait for the same signal.

interface Waiting {
  readonly listeners: Set<() => void>
  readonly abort: () => void
}

const waiting = new WeakMap<AbortSignal, Waiting>()

/** Calls `listener` once when `signal` aborts, unless what it returns is called before. The signal must not be aborted yet. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const found = waiting.get(signal) ?? listenTo(signal)
  // A function of its own: the same listener may be given twice.
  const entry = () => listener()
  found.listeners.add(entry)
  return () => {
    found.listeners.delete(entry)
    // Node keeps a combined signal (AbortSignal.any) in memory as long as it has a listener.
    if (found.listeners.size === 0) forget(signal, found)
  }
}

function listenTo(signal: AbortSignal): Waiting {
  const made: Waiting = {
    listeners: new Set(),
    abort: () => {
      forget(signal, made)
      for (const entry of made.listeners) entry()
    },
  }
  waiting.set(signal, made)
  signal.addEventListener('abort', made.abort)
  return made
}

function forget(signal: AbortSignal, each: Waiting): void {
  if (waiting.get(signal) === each) waiting.delete(signal)
  signal.removeEventListener('abort', each.abort)
}
