// The canary as a decorator of a shared queue: each pop brings the queue's mark for free. It is compared with what the store
// knew before that pop began; a difference is a suspicion, which the lower arrow confirms or forgets. So is a sweep's push
// that the queue did not take because it is another one.
import { difference, type Mark } from '../job/canary-mark.ts'
import type { Queue } from './queue.ts'

/** What a process knows of the canary. */
export class Canary {
  #known: Mark | null = null
  /** A mark differed since the store's copy was last read. */
  suspected = false
  #seenInOrder = false
  /** Called at the first suspicion after each `know`. */
  onSuspicion: () => void = () => {}

  /** Of the store's copy when it was last read; null: it never was. */
  get epoch(): number | null {
    return this.#known?.epoch ?? null
  }

  /** The store's copy, read just now. */
  know(mark: Mark): void {
    this.#known = mark
    this.suspected = false
  }

  /** Whether a pop since the last call of this brought a mark that was in order. */
  wasSeen(): boolean {
    const seen = this.#seenInOrder && !this.suspected
    this.#seenInOrder = false
    return seen
  }

  /** The queue, with its pops and pushes compared. */
  watch(queue: Queue): Queue {
    return {
      name: queue.name,
      shared: queue.shared,
      rollsBack: queue.rollsBack,
      push: async (hints, options) => {
        const pushed = await queue.push(hints, options)
        if (pushed.lost) this.#suspect()
        return pushed
      },
      pushFrom:
        queue.pushFrom &&
        (async (request) => {
          const filled = await (queue.pushFrom as NonNullable<Queue['pushFrom']>)(request)
          if (filled.pushed.lost) this.#suspect()
          return filled
        }),
      writeMark: (mark) => queue.writeMark(mark),
      moveMark: (known) => queue.moveMark(known),
      count: (jobs) => queue.count(jobs),
      peek: queue.peek && ((job, keys) => (queue.peek as NonNullable<Queue['peek']>)(job, keys)),
      examine: queue.examine && (() => (queue.examine as NonNullable<Queue['examine']>)()),
      forget: queue.forget && ((job) => (queue.forget as NonNullable<Queue['forget']>)(job)),
      wipe: () => queue.wipe(),
      close: () => queue.close(),
      pop: async (request, signal) => {
        const known = this.#known
        const popped = await queue.pop(request, signal)
        if (known && popped.mark !== undefined) {
          if (difference(known, popped.mark) !== null) this.#suspect()
          else this.#seenInOrder = true
        }
        return popped
      },
    }
  }

  /** Once per look: a queue that was lost tells it with every pop. */
  #suspect(): void {
    if (this.suspected) return
    this.suspected = true
    this.onSuspicion()
  }
}
