// The canary as a decorator of a shared queue: each pop brings the queue's mark for free. It is compared with what the store
// knew before that pop began; a difference is a suspicion, which the lower arrow confirms or forgets. So is a sweep's push
// that the queue did not take because it is another one.
import { difference, type Mark } from '../job/canary-mark.ts'
import type { Pushed } from './hint.ts'
import type { Queue } from './queue.ts'
import { wrapQueue } from './wrap-queue.ts'

/** What a process knows of the canary. */
export class Canary {
  #known: Mark | null = null
  /** A mark differed since the store's copy was last read. */
  suspected = false
  #seenInOrder = false
  readonly #onSuspicion: () => void

  /** `onSuspicion` is called at the first suspicion after each `know`. */
  constructor(onSuspicion: () => void = () => {}) {
    this.#onSuspicion = onSuspicion
  }

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

  /** The queue, with the mark that its pops and pushes bring compared. */
  watch(queue: Queue): Queue {
    const { filler } = queue
    return wrapQueue(queue, {
      push: async (hints, options) => this.#checked(await queue.push(hints, options)),
      ...(filler && {
        filler: {
          fill: async (request) => {
            const filled = await filler.fill(request)
            this.#checked(filled.pushed)
            return filled
          },
        },
      }),
      pop: async (request, signal) => {
        const known = this.#known
        const popped = await queue.pop(request, signal)
        if (known && popped.mark !== undefined) {
          if (difference(known, popped.mark) !== null) this.#suspect()
          else this.#seenInOrder = true
        }
        return popped
      },
    })
  }

  #checked(pushed: Pushed): Pushed {
    if (pushed.lost) this.#suspect()
    return pushed
  }

  /** Once per look: a queue that was lost tells it with every pop. */
  #suspect(): void {
    if (this.suspected) return
    this.suspected = true
    this.#onSuspicion()
  }
}
