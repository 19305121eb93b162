// Fresh hints whose row was not pending: looked at again after 0.2, 1 and 5 s by this worker, then forgotten.
// That covers an enqueue before its commit; a row that commits later is found by the sweep.
import type { Clock } from '../base/clock.ts'
import { Heap } from '../base/heap.ts'
import type { PoppedHint } from '../queue/hint.ts'

const waitsMs = [200, 1_000, 5_000]
/** Past this many waiting hints the oldest way out is the sweep. */
const most = 10_000

interface Waiting {
  readonly hint: PoppedHint
  readonly tries: number
  readonly dueAt: number
}

export class LookAgain {
  readonly #clock: Clock
  readonly #heap = new Heap<Waiting>((a, b) => a.dueAt < b.dueAt)
  /** Tries so far of hints that are being looked at right now. */
  readonly #tries = new WeakMap<PoppedHint, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(hint: PoppedHint): void {
    const tries = this.#tries.get(hint) ?? 0
    const waitMs = waitsMs[tries]
    if (waitMs === undefined || this.#heap.size >= most) return
    this.#heap.push({ hint, tries: tries + 1, dueAt: this.#clock.now() + waitMs })
  }

  /** Hints whose wait is over, `limit` at most. */
  due(limit: number): PoppedHint[] {
    const hints: PoppedHint[] = []
    for (
      let next = this.#heap.peek();
      next && next.dueAt <= this.#clock.now() && hints.length < limit;
      next = this.#heap.peek()
    ) {
      this.#heap.pop()
      const hint = { ...next.hint }
      this.#tries.set(hint, next.tries)
      hints.push(hint)
    }
    return hints
  }

  /** Milliseconds until the next one is due. */
  nextMs(): number {
    return Math.max(0, (this.#heap.peek()?.dueAt ?? Number.POSITIVE_INFINITY) - this.#clock.now())
  }
}
