// What this process holds: its identity, its take numbers, and when its last beat was confirmed.
import type { Random } from '../base/random.ts'

export class Claims {
  readonly #random: Random
  readonly #known = new Map<number, AbortController>()
  #lastTake = 0
  /** When the last confirmed beat was sent. */
  beatAt = Number.NEGATIVE_INFINITY
  /** Random 128-bit identity of this worker; a new one after it was declared dead. */
  holder: string

  constructor(random: Random) {
    this.#random = random
    this.holder = random.hex(16)
  }

  /** A take number: a counter in this process, never reused (S3). It counts as awaited until `forget`. */
  next(): number {
    this.#known.set(++this.#lastTake, new AbortController())
    return this.#lastTake
  }

  /** Aborts when the claim is lost while its handler runs. */
  signal(take: number): AbortSignal {
    return this.#known.get(take)?.signal ?? AbortSignal.abort()
  }

  forget(take: number): void {
    this.#known.delete(take)
  }

  /** Takes that are running or awaited, and the highest one handed out; the beat gives back the others. */
  known(): { takes: number[]; highest: number } {
    return { takes: [...this.#known.keys()], highest: this.#lastTake }
  }

  /** True while nobody can have declared us dead: the last confirmed beat is younger than lease − margin. */
  sure(now: number, leaseMs: number): boolean {
    return now - this.beatAt < leaseMs * 0.8
  }

  /** Our row is gone: abort everything and go on as somebody else. */
  renew(): void {
    for (const run of this.#known.values()) run.abort()
    this.#known.clear()
    this.holder = this.#random.hex(16)
    this.beatAt = Number.NEGATIVE_INFINITY
  }
}
