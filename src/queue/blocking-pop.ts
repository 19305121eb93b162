// A pop that waits until there is something to pop, for all queues: look, sleep until news or until a hint comes due, look again.
import type { Clock } from '../base/clock.ts'
import { difference, type Mark } from '../job/canary-mark.ts'
import type { PoppedHint } from './hint.ts'
import type { Popped, PopRequest } from './queue.ts'
import type { Waiters } from './waiters.ts'

/** What one look at a queue found. */
export interface Look {
  readonly hints: readonly PoppedHint[]
  readonly mark: Mark | null
  /** Until a delayed hint comes due; Infinity when none is known. */
  readonly nextMs: number
}

export interface BlockingPopPorts {
  readonly clock: Clock
  readonly waiters: Waiters
  /** Pops what is due. `hasNews`: a push came while this pop slept, and nothing was due before. */
  readonly look: (request: PopRequest, hasNews: boolean) => Promise<Look>
  /** The longest sleep, after so many looks in a row that found nothing. Infinity where no news are ever missed. */
  readonly pollMs: (emptyLooks: number) => number
}

export class BlockingPop {
  readonly #ports: BlockingPopPorts
  /** The mark that the look before found. */
  #mark: Mark | null = null
  #emptyLooks = 0

  constructor(ports: BlockingPopPorts) {
    this.#ports = ports
  }

  async pop(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    if (request.waitMs <= 0) return poppedOf(await this.#ports.look(request, false))
    // It joins before it looks, so that a push in between is not slept through.
    const waiter = this.#ports.waiters.join(request)
    try {
      return await this.#wait(request, waiter, signal)
    } finally {
      this.#ports.waiters.leave(waiter)
    }
  }

  async #wait(request: PopRequest, waiter: ReturnType<Waiters['join']>, signal?: AbortSignal): Promise<Popped> {
    const { clock, waiters, look, pollMs } = this.#ports
    const until = clock.now() + request.waitMs
    for (;;) {
      const found = await look(request, waiter.beginLook())
      const leftMs = until - clock.now()
      const { hints, nextMs } = found
      const isLost = this.#isLost(found.mark)
      if (hints.length > 0 || isLost) this.#emptyLooks = 0
      else if (leftMs > 0 && !signal?.aborted && !waiters.isClosed) {
        const sleepMs = Math.min(nextMs, pollMs(this.#emptyLooks++))
        await waiters.sleep(waiter, Math.min(leftMs, sleepMs), signal)
        if (waiter.given) {
          this.#emptyLooks = 0
          return waiter.given
        }
        // When the time is over and nothing woke it, the caller's next pop looks, at once.
        const isOver = !waiter.hasNews && leftMs <= sleepMs && leftMs < nextMs
        if (!isOver && !signal?.aborted && !waiters.isClosed) continue
      }
      return poppedOf(found)
    }
  }

  /** A pop does not wait for hints in a queue that was lost: its caller compares the mark. */
  #isLost(mark: Mark | null): boolean {
    const before = this.#mark
    this.#mark = mark
    return before !== null && difference(before, mark) !== null
  }
}

const poppedOf = ({ hints, mark }: Look): Popped => ({ hints, mark })
