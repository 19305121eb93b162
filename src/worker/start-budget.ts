// How many keys a worker may still start: without a bound, unless it works for a drain that has one.

export class StartBudget {
  #left: number

  constructor(most: number) {
    this.#left = most
  }

  get spent(): boolean {
    return this.#left <= 0
  }

  /** Up to `count` starts; answers how many there are. */
  take(count: number): number {
    const taken = Math.min(count, this.#left)
    this.#left -= taken
    return taken
  }

  /** Starts that were taken and did not come about. */
  give(count: number): void {
    this.#left += count
  }
}
