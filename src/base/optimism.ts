// Writes without a look at what is there. Where most of what is written is new, a look costs a statement for nothing; after a write
// that found something there, the next ones look first.

export interface OptimismOptions {
  /** Writes that look before the first one that does not. Defaults to 0. */
  readonly looksAtFirst?: number
  /** Writes that look after one that was wrong. Defaults to 20. */
  readonly looksAfterMistake?: number
}

/** By name, so that a job whose keys are mostly there does not slow the others. */
export class Optimism {
  readonly #looksLeft = new Map<string, number>()
  readonly #atFirst: number
  readonly #afterMistake: number

  constructor({ looksAtFirst = 0, looksAfterMistake = 20 }: OptimismOptions = {}) {
    this.#atFirst = looksAtFirst
    this.#afterMistake = looksAfterMistake
  }

  /** Whether to write without a look. */
  expectsNew(name: string): boolean {
    return this.#left(name) === 0
  }

  /** A write looked first. */
  hasLooked(name: string): void {
    const left = this.#left(name)
    if (left > 0) this.#set(name, left - 1)
  }

  /** Something was there. */
  wasWrong(name: string): void {
    this.#set(name, this.#afterMistake)
  }

  /** There is good reason to think that all is new. */
  trust(name: string): void {
    this.#set(name, 0)
  }

  #left(name: string): number {
    return this.#looksLeft.get(name) ?? this.#atFirst
  }

  #set(name: string, looks: number): void {
    if (looks === this.#atFirst) this.#looksLeft.delete(name)
    else this.#looksLeft.set(name, looks)
  }
}
