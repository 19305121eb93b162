// The runs of this process and their time limits. One look per round over all of them instead of a timer for each.
import type { Clock } from '../../base/clock.ts'
import { readable } from '../../base/duration.ts'
import { RegrowError } from '../../base/errors.ts'
import type { Outcome } from '../../job/outcome.ts'
import { abort, type RunState } from './context.ts'

/** So long after the abort the claim is given up; the slot stays stuck until the handler really ends. */
const patienceMs = 30_000

/** A call of a handler, as the watch on time sees it. */
export interface Watched extends RunState {
  readonly timeoutMs: number
  readonly startedAt: number
  timedOut: RegrowError | undefined
  /** Where it stands among the runs; -1: it is not among them. */
  place: number
  /** Its time is over for good. */
  giveUp(outcome: Outcome): void
}

/** What the watch on time tells. */
export interface RunningTells {
  /** A claim was given up, and its slot is stuck. */
  readonly stuck: (state: RunState) => void
  /** Half of the slots are stuck: the process does half its work, and only a new one has all slots. Told once. */
  readonly recycle: (stuckCount: number) => void
}

export class Running {
  readonly #clock: Clock
  readonly #size: number
  /** In no order: who leaves is replaced by the last one. A Set of so many makes its table anew again and again. */
  readonly #runs: Watched[] = []
  readonly #tells: RunningTells
  #stuckCount = 0
  #recycle = false

  /** `size`: calls at a time in this process. */
  constructor(clock: Clock, size: number, tells: RunningTells) {
    this.#clock = clock
    this.#size = size
    this.#tells = tells
  }

  /** Handlers that did not end after their claim was given up; each has a slot. */
  get stuckCount(): number {
    return this.#stuckCount
  }

  /** True once half of the slots were stuck; it stays so. */
  get recycle(): boolean {
    return this.#recycle
  }

  get size(): number {
    return this.#runs.length
  }

  /** Watches a call until it has ended. */
  begin(call: Watched): void {
    call.place = this.#runs.length
    this.#runs.push(call)
  }

  /** The call has really ended. */
  ended(call: Watched): void {
    if (call.place < 0) this.#stuckCount--
    else this.#leave(call)
  }

  /** Aborts what is over its timeout, gives up what ignores that; returns when to look again. */
  look(): number {
    const now = this.#clock.now()
    for (const run of [...this.#runs]) {
      const over = now - run.startedAt - run.timeoutMs
      // One that left meanwhile is nobody's to give up.
      if (over < 0 || run.place < 0) continue
      run.timedOut ??= new RegrowError(
        'timeout',
        `The run took longer than its timeout of ${readable(run.timeoutMs)}`,
        'Raise `timeout`, or make the handler shorter; pass ctx.signal on to what it waits for.',
      )
      abort(run, run.timedOut)
      if (over < patienceMs) continue
      this.#leave(run)
      this.#stuckCount++
      this.#tells.stuck(run)
      run.giveUp({ kind: 'failure', error: run.timedOut })
    }
    if (!this.#recycle && this.#stuckCount > 0 && this.#stuckCount >= this.#size / 2) {
      this.#recycle = true
      this.#tells.recycle(this.#stuckCount)
    }
    return 500
  }

  abortAll(reason: Error): void {
    for (const run of [...this.#runs]) abort(run, reason)
  }

  /** The entries of all runs; what a stop gives back. */
  entries() {
    return this.#runs.flatMap(({ entries }) => entries)
  }

  #leave(call: Watched): void {
    const last = this.#runs.pop() as Watched
    if (last !== call) {
      last.place = call.place
      this.#runs[call.place] = last
    }
    call.place = -1
  }
}
