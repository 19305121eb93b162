// What happens is told here. Typed by a map from name to detail.

type Listener = (detail: never) => void

/** A typed event source. */
export class Events<EventMap extends object> {
  readonly #listeners = new Map<keyof EventMap, Set<Listener>>()

  /** Calls `listener` for each event of that name. Returns the function that ends it. */
  on<Name extends keyof EventMap>(name: Name, listener: (detail: EventMap[Name]) => void): () => void {
    const set = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, set.add(listener))
    return () => set.delete(listener)
  }

  emit<Name extends keyof EventMap>(name: Name, detail: EventMap[Name]): void {
    for (const listener of this.#listeners.get(name) ?? [])
      try {
        listener(detail as never)
      } catch {
        // A listener's mistake must not stop a worker; listeners report their own errors.
      }
  }
}
