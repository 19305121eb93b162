// Free places for handler calls, in the process and of each job that has a limit of its own. A worker takes no more than
// it has of them.
import { type WaitLimits, waitUntilWoken } from '../base/wait.ts'
import type { Handler } from '../job/handler.ts'

/** How many handler calls a worker can make at a time, and how many more now. */
export interface CapacityReport {
  /** All of them: the worker's `concurrency`. */
  readonly size: number
  readonly free: number
  /** Kept by handlers that did not end 30 s after their timeout; their claims were given up. */
  readonly stuck: number
  /** Half of them were stuck at once: start the process anew. It stays true. */
  readonly recycle: boolean
}

/** Jobs that have a limit of their own. */
export function limitsOf(handlers: readonly Handler[]): ReadonlyMap<string, number> {
  return new Map(handlers.flatMap(({ job }) => (job.concurrency === null ? [] : [[job.name, job.concurrency]])))
}

interface Waiter {
  readonly ready: () => boolean
  readonly wake: () => void
}

export class Slots {
  readonly size: number
  readonly #limits: ReadonlyMap<string, number>
  readonly #taken = new Map<string, number>()
  #free: number
  readonly #waiters = new Set<Waiter>()

  /** `limits`: calls at a time of single jobs; a job that is not named there may have all slots. */
  constructor(size: number, limits: ReadonlyMap<string, number> = new Map()) {
    this.size = size
    this.#limits = limits
    this.#free = size
  }

  get free(): number {
    return this.#free
  }

  /** Calls of that job that may begin now. */
  room(job: string): number {
    const own = (this.#limits.get(job) ?? Number.POSITIVE_INFINITY) - (this.#taken.get(job) ?? 0)
    return Math.max(0, Math.min(this.#free, own))
  }

  /** Never refused: who takes has asked for room before, or takes all there are and waits until they are free. */
  take(count: number, job: string): void {
    this.#add(count, job)
  }

  give(count: number, job: string): void {
    this.#add(-count, job)
    for (const waiter of this.#waiters) if (waiter.ready()) waiter.wake()
  }

  report({ stuckCount, recycle }: { readonly stuckCount: number; readonly recycle: boolean }): CapacityReport {
    return { size: this.size, free: Math.max(0, this.#free), stuck: stuckCount, recycle }
  }

  /** Resolves when `ready` holds, or at one of the limits. */
  async freed(ready: () => boolean, limits: WaitLimits): Promise<void> {
    if (ready()) return
    let waiter: Waiter | undefined
    await waitUntilWoken(limits, (wake) => {
      waiter = { ready, wake }
      this.#waiters.add(waiter)
    })
    if (waiter) this.#waiters.delete(waiter)
  }

  #add(count: number, job: string): void {
    this.#free -= count
    const taken = (this.#taken.get(job) ?? 0) + count
    if (taken === 0) this.#taken.delete(job)
    else this.#taken.set(job, taken)
  }
}
