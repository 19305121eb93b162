// Hints in this process's memory: gone with the process, and grown back by the sweep of the next one.
import type { Clock } from '../base/clock.ts'
import type { Hint, PoppedHint } from './hint.ts'
import type { PopRequest, Queue } from './queue.ts'

interface Entry extends PoppedHint {
  readonly dueAt: number
}

export class MemoryQueue implements Queue {
  readonly #clock: Clock
  /** By job and key, so there is one hint of each. */
  readonly #entries = new Map<string, Entry>()
  #pushed = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async push(hints: readonly Hint[]) {
    const count = { added: 0, merged: 0, dropped: 0 }
    for (const hint of hints) count[this.#put(hint)]++
    // Whoever waits in a pop looks again.
    this.#pushed.abort()
    this.#pushed = new AbortController()
    return count
  }

  async pop(request: PopRequest, signal: AbortSignal) {
    const until = this.#clock.now() + request.waitMs
    for (;;) {
      const now = this.#clock.now()
      const mine = [...this.#entries].filter(([, { job }]) => request.jobs.includes(job))
      const due = mine.filter(([, { dueAt }]) => dueAt <= now).sort(([, a], [, b]) => order(a, b))
      if (due.length > 0 || now >= until || signal.aborted) {
        const popped = due.slice(0, request.limit)
        for (const [id] of popped) this.#entries.delete(id)
        return { hints: popped.map(([, { job, key, fresh }]) => ({ job, key, fresh })) }
      }
      const next = Math.min(until, ...mine.map(([, { dueAt }]) => dueAt))
      await this.#clock.sleep(next - now, AbortSignal.any([signal, this.#pushed.signal]))
    }
  }

  #put({ job, key, fresh, delayMs }: Hint): 'added' | 'merged' {
    const id = JSON.stringify([job, key])
    const dueAt = this.#clock.now() + Math.max(0, delayMs)
    const existing = this.#entries.get(id)
    if (!existing) this.#entries.set(id, { job, key, fresh, dueAt })
    else if (fresh) this.#entries.set(id, { job, key, fresh, dueAt: Math.min(dueAt, existing.dueAt) })
    return existing ? 'merged' : 'added'
  }
}

/** Fresh ones first, then by due time. */
const order = (a: Entry, b: Entry) => Number(b.fresh) - Number(a.fresh) || a.dueAt - b.dueAt
