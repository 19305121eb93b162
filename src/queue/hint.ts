// What the queue holds: identity, never facts. Whatever is lost, late or doubled here, the run re-reads the truth (S1).

/** One entry of the queue. There is one per (job, key): the hint is its own uniqueness lock (S12). */
export interface Hint {
  readonly job: string
  readonly key: string
  /** Not before so many milliseconds from now; the queue adds it to its own clock. */
  readonly delayMs: number
  /** Pushed by an enqueue on somebody's path: popped first, and it makes an existing hint sooner. */
  readonly fresh: boolean
}

/** A hint that was popped, and is no longer in the queue. */
export interface PoppedHint {
  readonly job: string
  readonly key: string
  readonly fresh: boolean
}

/** What became of pushed hints. */
export interface Pushed {
  readonly added: number
  /** There was a hint of that key already. */
  readonly merged: number
  /** Over the bound; the work is not lost, its row is still there. */
  readonly dropped: number
  /** Swept hints that were not taken, since the queue is not the one they were meant for. Defaults to 0. */
  readonly lost?: number
  /** Of `dropped`, hints that the queue can never hold, whatever room it has: trying again would not help. Defaults to 0. */
  readonly refused?: number
  /** Why hints were dropped, where it is not for want of room: the queue failed. */
  readonly error?: unknown
}

/** A count as it is handed out: `lost`, `refused` and `error` only where there is one. */
export const pushed = ({ lost = 0, refused = 0, error, ...count }: Pushed): Pushed => ({
  ...count,
  ...(lost > 0 && { lost }),
  ...(refused > 0 && { refused }),
  ...(error !== undefined && { error }),
})

/** How many hints a queue takes (S11). One that is there takes no more room when an enqueue makes it sooner. */
export interface QueueBounds {
  /** Due hints per job and lane. Defaults to 50,000. */
  readonly maxHints: number
  /** Delayed hints per job. Defaults to 1,000,000. */
  readonly maxDelayed: number
}

/** What is wrong with bounds that were given; a sentence for each. */
export const boundMistakes = (given: Partial<QueueBounds>, where: string): string[] =>
  (['maxHints', 'maxDelayed'] as const)
    .filter((name) => given[name] !== undefined && !(Number.isInteger(given[name]) && (given[name] as number) >= 0))
    .map((name) => `${where}: \`${name}\` is ${String(given[name])}; expected a whole number`)

export const defaultBounds: QueueBounds = { maxHints: 50_000, maxDelayed: 1_000_000 }

/** Leaves a tenth of what is popped to the swept lane, so that fresh work cannot starve it; exact over small pops too. */
export class OtherLane {
  /** In tenths of a hint: a sum of fractions would fall short of one. */
  #owedTenths = 0

  share(limit: number): number {
    this.#owedTenths += limit
    const share = Math.floor(this.#owedTenths / 10)
    this.#owedTenths -= 10 * share
    return share
  }
}
