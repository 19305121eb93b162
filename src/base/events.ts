// What happens is told here. Typed by a map from name to detail; nothing is built when nobody listens.
import { channel } from 'node:diagnostics_channel'
import { ifRejected } from './thenable.ts'

const everything = channel('regrow')

type Listener = (detail: never, name: never) => unknown

/** A typed event source; each event is also published on the diagnostics channel `regrow`. */
export class Events<EventMap extends object> {
  readonly #listeners = new Map<string, Set<Listener>>()
  /** Of a part: where all that it emits goes on to. */
  #whole: Events<EventMap> | undefined
  #overhears: (name: keyof EventMap & string, detail: EventMap[keyof EventMap]) => void = () => {}
  #listenerFailed: (name: keyof EventMap & string, error: unknown) => void = () => {}

  /** Calls `listener` for each event of that name (`'*'`: of any). Returns the function that ends it. */
  on<Name extends keyof EventMap & string>(
    name: Name | '*',
    listener: (detail: EventMap[Name], name: Name) => void,
  ): () => void {
    const set = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, set.add(listener as Listener))
    return () => set.delete(listener as Listener)
  }

  /** Calls `listener` for whatever is emitted anyway: it does not count as somebody that an event would reach. There is one. */
  overhear(listener: (name: keyof EventMap & string, detail: EventMap[keyof EventMap]) => void): void {
    this.#overhears = listener
  }

  /** Events of one part of what emits these: `listener` hears what that part emits, which then goes on as if it were emitted here. */
  part(listener: (detail: EventMap[keyof EventMap], name: keyof EventMap & string) => void): Events<EventMap> {
    const part = new Events<EventMap>()
    part.#whole = this
    part.on('*', listener)
    return part
  }

  /** Calls `told` for what a listener throws or rejects with, and the event that it heard. There is one. */
  whenListenerFails(told: (name: keyof EventMap & string, error: unknown) => void): void {
    this.#listenerFailed = told
  }

  /** True when an event of that name would reach somebody: lets hot paths skip building details. */
  heard(name: keyof EventMap & string): boolean {
    return everything.hasSubscribers || !!this.#listeners.get(name)?.size || !!this.#listeners.get('*')?.size
  }

  /** Never throws: whoever emits has its own work to do. */
  emit<Name extends keyof EventMap & string>(name: Name, detail: EventMap[Name]): void {
    if (this.#whole) {
      this.#call('*', name, detail)
      this.#whole.emit(name, detail)
      return
    }
    if (everything.hasSubscribers) everything.publish({ name, detail })
    this.#call(name, name, detail)
    this.#call('*', name, detail)
    try {
      this.#overhears(name, detail)
    } catch {
      // What cannot be made into a line for people must not stop a worker.
    }
  }

  #call(key: string, name: keyof EventMap & string, detail: unknown): void {
    const listeners = this.#listeners.get(key)
    if (!listeners) return
    // A listener's mistake must not stop a worker.
    const failed = (error: unknown) => this.#listenerFailed(name, error)
    for (const listener of listeners) {
      try {
        ifRejected(listener(detail as never, name as never), failed)
      } catch (error) {
        failed(error)
      }
    }
  }
}
