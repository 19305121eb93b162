// A bound on how much goes on at the same time; what comes over it waits in line.

/** Runs `work` when fewer than `most` are running; the others wait, first come first served. */
export function limited(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const line: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => line.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = line.shift()
      if (next) next()
      else running--
    }
  }
}
