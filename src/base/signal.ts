// Something that happened in one part of a process and that another part acts on at once. It carries nothing: the listener looks.

export class Signal {
  readonly #listeners = new Set<() => void>()

  /** Calls `listener` each time. Returns the function that ends it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  fire(): void {
    for (const listener of this.#listeners) listener()
  }
}
