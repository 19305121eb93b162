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

/** For how many keys of a job there is room now. */
type Room = (job: string) => number

const everywhere: Room = () => Number.POSITIVE_INFINITY

export class LookAgain {
  readonly #clock: Clock
  readonly #waits: readonly number[]
  /** Job by job: hints of one that has no room must not be gone through to get at the others. */
  readonly #heaps = new Map<string, Heap<Waiting>>()
  #size = 0
  /** Tries so far of hints that are being looked at right now. */
  readonly #tries = new WeakMap<PoppedHint, number>()

  /** `waits`: after how long a hint is looked at, and again. */
  constructor(clock: Clock, waits: readonly number[] = waitsMs) {
    this.#clock = clock
    this.#waits = waits
  }

  add(hint: PoppedHint): void {
    const tries = this.#tries.get(hint) ?? 0
    const waitMs = this.#waits[tries]
    if (waitMs === undefined || this.#size >= most) return
    const heap = this.#heaps.get(hint.job) ?? new Heap<Waiting>((a, b) => a.dueAt < b.dueAt)
    this.#heaps.set(hint.job, heap)
    heap.push({ hint, tries: tries + 1, dueAt: this.#clock.now() + waitMs })
    this.#size++
  }

  /** Hints whose wait is over, `limit` at most and of each job no more than it has room for; the longest waiting first. */
  due(limit: number, room: Room = everywhere): PoppedHint[] {
    const hints: PoppedHint[] = []
    const left = new Map([...this.#heaps.keys()].map((job) => [job, room(job)]))
    while (hints.length < limit) {
      const [job, next] = this.#soonest((each) => left.get(each) as number) ?? []
      if (job === undefined || !next || next.dueAt > this.#clock.now()) break
      this.#heaps.get(job)?.pop()
      this.#size--
      left.set(job, (left.get(job) as number) - 1)
      const hint = { ...next.hint }
      this.#tries.set(hint, next.tries)
      hints.push(hint)
    }
    return hints
  }

  /** Milliseconds until the next one is due of a job that has room. */
  nextMs(room: Room = everywhere): number {
    const dueAt = this.#soonest(room)?.[1].dueAt ?? Number.POSITIVE_INFINITY
    return Math.max(0, dueAt - this.#clock.now())
  }

  #soonest(room: Room): [job: string, waiting: Waiting] | undefined {
    let found: [string, Waiting] | undefined
    for (const [job, heap] of this.#heaps) {
      const next = heap.peek()
      if (next && room(job) > 0 && (!found || next.dueAt < found[1].dueAt)) found = [job, next]
    }
    return found
  }
}
