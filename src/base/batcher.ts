// Gathers single items into batches: while one batch is away, the next one fills. No timer, no added latency when idle.
import type { Clock } from './clock.ts'

export class Batcher<Item, Result> {
  readonly #clock: Clock
  readonly #sizeMax: number
  readonly #send: (items: readonly Item[]) => Promise<readonly Result[]>
  #waiting: { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = []
  #sending = false

  /** `send` answers one result per item, in order; when it throws, every item of that batch is rejected. */
  constructor(clock: Clock, sizeMax: number, send: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#clock = clock
    this.#sizeMax = sizeMax
    this.#send = send
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (!this.#sending) void this.#drain()
    })
  }

  async #drain(): Promise<void> {
    this.#sending = true
    await this.#clock.gather()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#sizeMax)
      try {
        const results = await this.#send(batch.map(({ item }) => item))
        batch.forEach(({ resolve }, i) => {
          resolve(results[i] as Result)
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#sending = false
  }
}
