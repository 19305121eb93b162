// Batches between their pop and their start: how many there are of each job, and the hints of those that a stop interrupts.
import type { PoppedHint } from '../queue/hint.ts'

export class OpenBatches {
  readonly #batches = new Map<Promise<void>, readonly PoppedHint[]>()
  readonly #counts = new Map<string, number>()

  /** Tracks a batch of that job until `work` has started it. */
  async track(job: string, hints: readonly PoppedHint[], work: () => Promise<void>): Promise<void> {
    this.#counts.set(job, this.of(job) + 1)
    const batch = work()
    this.#batches.set(batch, hints)
    try {
      await batch
    } finally {
      this.#batches.delete(batch)
    }
  }

  /** A batch of that job has started, or failed to. */
  done(job: string): void {
    this.#counts.set(job, this.of(job) - 1)
  }

  /** Batches of that job that are open. */
  of(job: string): number {
    return this.#counts.get(job) ?? 0
  }

  /** Resolves when all that are open now have started or failed. */
  settled(): Promise<unknown> {
    return Promise.allSettled([...this.#batches.keys()])
  }

  hints(): PoppedHint[] {
    return [...this.#batches.values()].flat()
  }
}
