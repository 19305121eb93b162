// The view: a disposable set of hints. A hint says "look at this key"; it may be lost, late or wrong. (src/queue)

export class Queue {
  readonly #keys = new Set<string>()

  push(keys: readonly string[]): void {
    for (const key of keys) this.#keys.add(key)
  }

  pop(limit: number): string[] {
    const keys = [...this.#keys].slice(0, limit)
    for (const key of keys) this.#keys.delete(key)
    return keys
  }

  /** The accident. */
  flush(): void {
    this.#keys.clear()
  }
}
