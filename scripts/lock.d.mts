// The types of lock.mjs.

/** Runs `work` while holding the lock `file`, waiting for its turn first. `share` makes the lock last as long as that child, too. */
export function withLock<T>(
  file: string,
  work: (share: (pid: number) => void) => Promise<T>,
  options?: { onWait?: (pid: number) => void; pollMs?: number },
): Promise<T>
