// The story of a history: a hash over everything that happened in it, always; and its words, when somebody wants to read them.

export class Trace {
  /** The last lines are kept, also of a history that nobody reads: a violation shows them. */
  readonly lines: string[] = []
  readonly #now: () => number
  readonly #keep: number
  #hash = 0x811c9dc5

  /** Keeps the last `keep` lines. */
  constructor(now: () => number, keep: number) {
    this.#now = now
    this.#keep = keep
  }

  /** Something happened to `who`. `detail` is only asked for when lines are kept. */
  tell(who: string, what: string, detail: () => string = () => ''): void {
    this.#mix(String(this.#now()))
    this.#mix(who)
    this.#mix(what)
    if (this.#keep === 0) return
    const at = (this.#now() / 1_000).toFixed(3).padStart(9)
    this.lines.push(`${at}  ${who.padEnd(8)} ${what} ${detail()}`.trimEnd())
    if (this.lines.length > 2 * this.#keep) this.lines.splice(0, this.#keep)
  }

  /** Two histories with the same hash were the same. */
  get hash(): string {
    return this.#hash.toString(16).padStart(8, '0')
  }

  story(): readonly string[] {
    return this.lines.slice(-this.#keep)
  }

  #mix(text: string): void {
    let hash = this.#hash
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    this.#hash = Math.imul(hash ^ 0x1f, 0x01000193) >>> 0
  }
}
