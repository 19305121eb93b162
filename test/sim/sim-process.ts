// One process of a simulated fleet: its clock and its chance. It can die or freeze at any event. What is dead hears nothing
// any more; what is frozen hears everything at once when it is thawed.
import type { Clock } from '../../src/base/clock.ts'
import type { Random } from '../../src/base/random.ts'
import type { Kernel } from './kernel.ts'

/** How a process's own clock differs from the world's. */
export interface Skew {
  /** Ahead or behind, in ms: of the wall clock. */
  readonly wallMs: number
  /** Its seconds per second. */
  readonly rate: number
}

/** The wall clock when a history begins: the same instant in every run. */
export const beginningMs = 1_767_225_600_000

export class SimProcess {
  readonly name: string
  readonly random: Random
  state: 'up' | 'frozen' | 'dead' = 'up'
  /** When it last froze, in the world's time. */
  frozenAt = 0
  /** Calls of it that never got an answer. */
  unanswered = 0
  /** Called when it dies: the other ends of its connections notice. */
  onDeath: () => void = () => {}
  readonly #kernel: Kernel
  readonly #skew: Skew
  readonly #unheard: (() => void)[] = []
  readonly #listening = new Set<() => void>()

  constructor(name: string, kernel: Kernel, random: Random, skew: Skew) {
    this.name = name
    this.random = random
    this.#kernel = kernel
    this.#skew = skew
  }

  /** Something reaches this process: a reply, a timer. */
  hear(what: () => void): void {
    if (this.state === 'up') what()
    else if (this.state === 'frozen') this.#unheard.push(what)
  }

  /** Something reaches this process in `ms` of the world's time. */
  hearAfter(ms: number, what: () => void): () => void {
    return this.#kernel.after(ms, () => this.hear(what))
  }

  /** Calls `then` when `signal` aborts, while the process lives; what it returns ends that. */
  listen(signal: AbortSignal | undefined, then: () => void): () => void {
    if (!signal) return () => {}
    const deaf = () => {
      signal.removeEventListener('abort', then)
      this.#listening.delete(deaf)
    }
    signal.addEventListener('abort', then)
    this.#listening.add(deaf)
    return deaf
  }

  kill(): void {
    if (this.state === 'dead') return
    this.state = 'dead'
    this.#unheard.length = 0
    // A signal made of others is kept, with all that it holds, for as long as somebody listens.
    for (const deaf of this.#listening) deaf()
    this.onDeath()
  }

  freeze(): void {
    if (this.state !== 'up') return
    this.state = 'frozen'
    this.frozenAt = this.#kernel.now()
  }

  thaw(): void {
    if (this.state !== 'frozen') return
    this.state = 'up'
    // Each at an event of its own: between two timers that are due, promises are served.
    for (const what of this.#unheard.splice(0)) this.hearAfter(0, what)
  }

  readonly clock: Clock = {
    now: () => this.#kernel.now() * this.#skew.rate,
    wall: () => beginningMs + this.#kernel.now() + this.#skew.wallMs,
    after: (ms, then) => this.hearAfter(ms / this.#skew.rate, then),
    gather: () => new Promise((resolve) => this.hearAfter(0, resolve)),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const done = () => {
          cancel()
          deaf()
          resolve()
        }
        const cancel = this.hearAfter(ms / this.#skew.rate, done)
        const deaf = this.listen(signal, done)
      }),
  }
}
