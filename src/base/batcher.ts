// Gathers what comes up into batches: while one batch is away, the next one fills. No timer, no added latency when idle.
import type { Clock } from './clock.ts'

/** Items that travel together. */
export interface Group<Item, Result> {
  readonly items: readonly Item[]
  /** The results of a whole batch; those of these items begin at `at`. */
  sent(results: readonly Result[], at: number): void
  failed(error: unknown): void
}

export class Batcher<Item, Result> {
  readonly #clock: Pick<Clock, 'gather'>
  readonly #sizeMax: () => number
  readonly #send: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly #abreast: number
  readonly #whole: number
  #waiting: Group<Item, Result>[] = []
  #count = 0
  #sending = 0

  /**
   * `send` answers one result per item, in order; when it throws, everything in that batch is rejected. `abreast`: batches that may be
   * away at a time, 1 by default; `whole`: so many beside them when there is enough for a whole batch.
   */
  constructor(
    clock: Pick<Clock, 'gather'>,
    sizeMax: number | (() => number),
    send: (items: readonly Item[]) => Promise<readonly Result[]>,
    { abreast = 1, whole = 0 }: { readonly abreast?: number; readonly whole?: number } = {},
  ) {
    this.#clock = clock
    this.#sizeMax = typeof sizeMax === 'number' ? () => sizeMax : sizeMax
    this.#send = send
    this.#abreast = abreast
    this.#whole = whole
  }

  /** Answers the results of these items, in order. They travel together: one promise for a hundred of them. */
  add(items: readonly Item[]): Promise<readonly Result[]> {
    return new Promise((resolve, reject) =>
      this.put({ items, sent: (results, at) => resolve(results.slice(at, at + items.length)), failed: reject }),
    )
  }

  /** As `add`, for who waits for no promise: at tens of thousands of calls a second each of them counts. */
  put(group: Group<Item, Result>): void {
    this.#waiting.push(group)
    this.#count += group.items.length
    if (this.#maySend(this.#sending + 1)) void this.#drain()
  }

  #maySend(sending: number): boolean {
    return sending <= this.#abreast || (sending <= this.#abreast + this.#whole && this.#count >= this.#sizeMax())
  }

  async #drain(): Promise<void> {
    this.#sending++
    while (this.#waiting.length > 0 && this.#maySend(this.#sending)) {
      const most = this.#sizeMax()
      // Who has a whole batch waits for nothing.
      if (this.#waiting.length < most && this.#count < most) await this.#clock.gather()
      const groups = this.#next()
      if (groups.length === 0) break
      try {
        const results = await this.#send(groups.flatMap(({ items }) => items))
        let at = 0
        for (const group of groups) {
          group.sent(results, at)
          at += group.items.length
        }
      } catch (error) {
        for (const group of groups) group.failed(error)
      }
    }
    this.#sending--
  }

  /** As many groups as fit; one that is larger than a batch goes alone. */
  #next(): Group<Item, Result>[] {
    const most = this.#sizeMax()
    let size = 0
    let count = 0
    for (const { items } of this.#waiting) {
      if (count > 0 && size + items.length > most) break
      size += items.length
      count++
    }
    this.#count -= size
    return this.#waiting.splice(0, count)
  }
}
