// Free places for handler calls. A worker takes no more than it has of them.

export class Slots {
  readonly size: number
  #free: number
  #waiters: (() => void)[] = []

  constructor(size: number) {
    this.size = size
    this.#free = size
  }

  get free(): number {
    return this.#free
  }

  take(count: number): void {
    this.#free -= count
  }

  give(count: number): void {
    this.#free += count
    if (this.#free <= 0) return
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }

  /** Resolves when a slot is free, or `signal` aborts. */
  freed(signal: AbortSignal): Promise<void> {
    if (this.#free > 0 || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiters.push(done)
      signal.addEventListener('abort', done)
    })
  }
}
