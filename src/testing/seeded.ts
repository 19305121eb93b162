// Chance that replays: the same seed gives the same choices, so a failure can be seen again.

/** Choices drawn from a seed. */
export class Seeded {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A whole number from 0 to `below` − 1. */
  below(below: number): number {
    // A 32-bit linear congruence; its low bits are poor, so the high ones decide.
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * below)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  /** The same items in another order. */
  shuffled<T>(items: readonly T[]): T[] {
    const mixed = [...items]
    for (let at = mixed.length - 1; at > 0; at--) {
      const other = this.below(at + 1)
      ;[mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T]
    }
    return mixed
  }
}
