// The life of an app: open; closing, while its workers stop and their handlers may still use it; closed. Start, stop and close
// may come in any order and any number of times.
import type { Clock } from './clock.ts'
import { pledge } from './deferred.ts'
import { RegrowError } from './errors.ts'

/** How long calls that are under way may take to end before what they use is closed, and how long that may take then. */
const patienceMs = 10_000

export class Life {
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #explain: (error: unknown) => unknown
  #calls = 0
  /** Called when the last call that is under way has ended. */
  #quiet: () => void = () => {}
  readonly #workers = new Set<() => Promise<unknown>>()
  #closing: Promise<void> | undefined
  #closed = false

  /** `explain`: an error of a call as its caller should read it. */
  constructor(clock: Pick<Clock, 'sleep'>, explain: (error: unknown) => unknown = (error) => error) {
    this.#clock = clock
    this.#explain = explain
  }

  /** `close` was called: nothing new may begin. */
  get closing(): boolean {
    return this.#closing !== undefined
  }

  /** Throws when the app is closed. */
  check(): void {
    if (this.#closed) throw closedError()
  }

  /** Runs `work` as a call, unless the app is closed; `close` waits for it. What `passes` is true of is thrown as it is. */
  async call<T>(work: () => Promise<T>, passes: (error: unknown) => boolean = () => false): Promise<T> {
    this.check()
    this.#calls++
    try {
      return await work()
    } catch (error) {
      throw passes(error) ? error : this.#explain(error)
    } finally {
      if (--this.#calls === 0) this.#quiet()
    }
  }

  /** The same methods, also of objects inside, each of them a call. All answer promises. */
  guard<T extends object>(methods: T): T {
    const guarded = ([name, value]: [string, unknown]) => {
      if (typeof value !== 'function') return [name, this.guard(value as object)]
      return [name, (...args: unknown[]) => this.call(() => value.apply(methods, args))]
    }
    return Object.fromEntries(Object.entries(methods).map(guarded)) as T
  }

  /** A worker, by what stops it gently or waits for the stop that was begun. Returns what to call when it has stopped. */
  add(stop: () => Promise<unknown>): () => void {
    this.#workers.add(stop)
    return () => this.#workers.delete(stop)
  }

  /** Stops the workers, waits for calls, then calls `end`. Called again, it answers the same promise. */
  close(end: () => Promise<void>): Promise<void> {
    this.#closing ??= this.#close(end)
    return this.#closing
  }

  async #close(end: () => Promise<void>): Promise<void> {
    // A worker whose keys could not be given back has said so; their lease frees them.
    if (this.#workers.size > 0) await Promise.allSettled([...this.#workers].map((stop) => stop()))
    this.#closed = true
    if (this.#calls > 0) {
      const { promise, resolve } = pledge()
      this.#quiet = resolve
      await this.#within(promise)
    }
    // S16: an opening that hangs, or a handler that ignores its signal and keeps its connection, must not keep the caller of `close`.
    await this.#within(end())
  }

  /** Waits until `work` has ended, or for as long as its patience lasts; throws what it throws until then. */
  async #within(work: Promise<void>): Promise<void> {
    const over = new AbortController()
    let failure: { readonly error: unknown } | undefined
    void work
      .catch((error: unknown) => {
        failure = { error }
      })
      .finally(() => over.abort())
    await this.#clock.sleep(patienceMs, over.signal)
    if (failure) throw failure.error
  }
}

/** What every call of an app that was closed fails with. */
export const closedError = (): RegrowError =>
  new RegrowError(
    'closed',
    'The app was closed',
    'Call app.close() last: nothing works after it. Make a new app instead.',
  )
