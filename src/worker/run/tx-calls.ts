// The calls of ctx.tx that one run has made: which may begin, which are still under way when the handler has returned, and which
// failed without anybody having looked. In: each call. Out: what the run waits for, and the error that it ends with.
import type { Clock } from '../../base/clock.ts'
import { RegrowError } from '../../base/errors.ts'

/** How long a transaction may go on after its run was aborted. Then its connection is closed: it may lead nowhere (S16). */
const graceMs = 5_000

/** Closes the connection of a transaction at once; what it waits for fails. */
export type Abandon = (why: Error) => void

export class TxCalls {
  readonly #clock: Clock
  /** Most runs make one call, and none fails: a list that stays empty is not made. */
  readonly #underWay: Answer<unknown>[] = []
  #failed: { readonly call: Answer<unknown>; readonly error: unknown }[] | undefined
  /** Transactions that are open now. */
  #open: Set<Abandon> | undefined
  /** A call that settles the run is under way, or has. */
  #settles = false
  #over = false
  #refused: RegrowError | undefined
  #aborted: Error | undefined
  #abandoned = false
  #whenDone: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The refusal of a call; the run fails with it, whatever its handler made of it. */
  get refused(): RegrowError | undefined {
    return this.#refused
  }

  /** Why the connection of a transaction was closed; undefined: none was. */
  get abandoned(): Error | undefined {
    return this.#abandoned ? this.#aborted : undefined
  }

  /** Calls `work` unless another call is in its way; nothing is sent before the handler awaits something. */
  begin<T>(settles: boolean, work: () => Promise<T>): Promise<T> {
    const wrong = this.#over ? late() : this.#settles || (settles && this.#underWay.length > 0) ? twice() : undefined
    if (wrong && this.#over) return Promise.reject(wrong)
    this.#refused ??= wrong
    const call = new Answer<T>((resolve, reject) => (wrong ? reject(wrong) : void this.#alone(work, resolve, reject)))
    if (wrong) {
      call.handle(() => {})
      return call
    }
    this.#settles = settles
    this.#underWay.push(call)
    call.handle(
      () => this.#ended(call),
      (error) => {
        if (settles) this.#settles = false
        this.#failed ??= []
        this.#failed.push({ call, error })
        this.#ended(call)
      },
    )
    return call
  }

  /** One turn later: two calls in one breath are found before either has begun. */
  async #alone<T>(
    work: () => Promise<T>,
    resolve: (value: T) => void,
    reject: (reason: unknown) => void,
  ): Promise<void> {
    await undefined
    try {
      this.assertAlone()
      resolve(await work())
    } catch (error) {
      reject(error)
    }
  }

  /** S4: two calls in one run are a mistake that must not commit half of what was meant. */
  assertAlone(): void {
    if (this.#refused) throw this.#refused
  }

  /** The handler has ended: waits for the calls that it did not wait for. Undefined: there are none. */
  rest(): Promise<void> | undefined {
    for (const call of this.#underWay) call.outlivesHandler = true
    if (this.#underWay.length > 0) return new Promise((resolve) => (this.#whenDone = resolve))
    this.#over = true
    return undefined
  }

  /** Why the run fails though its handler did not throw: it may have thrown undefined inside. Undefined: it does not fail. */
  get failure(): { readonly error: unknown } | undefined {
    if (this.#refused) return { error: this.#refused }
    // An error that the handler has caught is its own to judge; it cannot have judged one that came after its end.
    return this.#failed?.find(({ call }) => !call.isSeen || call.outlivesHandler)
  }

  /** A transaction has its connection from now on; what it returns ends that. */
  opened(abandon: Abandon): () => void {
    this.#open ??= new Set()
    this.#open.add(abandon)
    if (this.#aborted) this.#abandonLater()
    return () => this.#open?.delete(abandon)
  }

  /** The run was aborted. */
  abort(reason: Error): void {
    if (this.#aborted) return
    this.#aborted = reason
    if (this.#open) this.#abandonLater()
  }

  #abandonLater(): void {
    this.#clock.after(
      graceMs,
      () => {
        for (const abandon of this.#open ?? []) {
          this.#abandoned = true
          abandon(this.#aborted as Error)
        }
      },
      { background: true },
    )
  }

  #ended(call: Answer<unknown>): void {
    this.#underWay.splice(this.#underWay.indexOf(call), 1)
    if (this.#underWay.length > 0 || !this.#whenDone) return
    this.#over = true
    this.#whenDone()
  }
}

/** What ctx.tx answers: it knows whether the handler has looked at it. `await` looks by `then`, as everybody does. */
class Answer<T> extends Promise<T> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  isSeen = false
  /** The handler ended before it did. */
  outlivesHandler = false

  // biome-ignore lint/suspicious/noThenProperty: it is a promise.
  override then<A = T, B = never>(
    kept?: ((value: T) => A | PromiseLike<A>) | null,
    broken?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isSeen = true
    return super.then(kept, broken)
  }

  /** As `then`, for the run itself: it does not count as a look. */
  handle(kept: () => void, broken: (reason: unknown) => void = kept): void {
    void super.then(kept, broken)
  }
}

const twice = () =>
  new RegrowError(
    'tx_twice',
    'ctx.tx was called while another call of the same run was under way, or after one that ends the run',
    'Await each call. The last one ends the run: do all in one ctx.tx, or use { settle: false } for the earlier ones.',
  )

const late = () =>
  new RegrowError(
    'run_over',
    'ctx.tx was called after its run had ended; nothing was sent',
    'Await everything that calls ctx.tx before the handler returns.',
  )
