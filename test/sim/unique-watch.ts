// Inputs with a unique text and `uniqueUntil: 'start'`: what was accepted is run after it was accepted, also where it was merged into an
// intent that was there before; and those of one text run one after the other.
import { mail } from './cast.ts'
import type { Oracle } from './oracle.ts'

export interface UniqueSurroundings {
  readonly now: () => number
  readonly oracle: () => Oracle
  /** The unique text that an intent was recorded with; null: none. */
  readonly textOf: (key: string) => string | null
}

interface Accepted {
  /** The intent that does it. */
  readonly key: string
  readonly atMs: number
}

export class UniqueWatch {
  readonly #around: UniqueSurroundings
  readonly #accepted: Accepted[] = []
  /** By key, when its handler last started. */
  readonly #starts = new Map<string, number>()

  constructor(around: UniqueSurroundings) {
    this.#around = around
  }

  /** An enqueue said that the intent `key` does what it asked for at `atMs`. */
  accepted(key: string, atMs: number): void {
    this.#accepted.push({ key, atMs })
  }

  started(job: string, key: string): void {
    if (job !== mail.name) return
    const { now, oracle, textOf } = this.#around
    this.#starts.set(key, now())
    const text = textOf(key)
    if (text === null) return
    const beside = oracle()
      .runningClaims(job)
      .find((other) => other !== key && textOf(other) === text)
    oracle().check('S2', beside === undefined, () => `${key} starts beside ${beside}: both are unique by ${text}`)
  }

  /** L1, once all work is done. */
  check(jobs: readonly string[]): void {
    if (!jobs.includes(mail.name)) return
    for (const { key, atMs } of this.#accepted) {
      const startedMs = this.#starts.get(key)
      const ran = startedMs !== undefined && startedMs >= atMs
      this.#around
        .oracle()
        .check('L1', ran, () => `accepted at ${atMs} into ${key}, which last started at ${startedMs}`)
    }
  }
}
