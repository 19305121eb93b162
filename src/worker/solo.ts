// Runs a suspect alone: a key that was running in two crashes may be their cause, or only a neighbour of it. Nothing else
// is started, what runs may end, then the suspect has the process to itself. After that normal work has at least as long.
import type { Clock } from '../base/clock.ts'
import type { Handler } from '../job/handler.ts'
import type { PoppedHint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import type { Slots } from './capacity.ts'
import type { Taken } from './stages.ts'

export interface SoloPorts {
  readonly clock: Clock
  readonly slots: Slots
  readonly push: Push
  /** Handlers that will not end any more: nobody waits for their slots. */
  readonly stuck: () => number
  /** Resolves when no pop is under way that could start something. */
  readonly popped: () => Promise<void>
  /** Claims a suspect; nothing when it may not be run alone now. */
  readonly reserve: (handler: Handler, hint: PoppedHint) => Promise<Taken | undefined>
  readonly run: (handler: Handler, hint: PoppedHint, entry: Taken) => Promise<void>
  readonly giveBack: (entry: Taken) => Promise<void>
  readonly failed: (handler: Handler, error: unknown) => void
}

/** The least time for normal work between two turns of suspects. */
const restMs = 200
/** No further suspect begins in a turn that has lasted so long. */
const turnMs = 1_000
/** When a suspect is looked at again that another process may be running one beside. */
const elsewhereMs = 1_000

export class Solo {
  readonly #ports: SoloPorts
  readonly #stopped = new AbortController()
  #hold = new AbortController()
  #restUntil = Number.NEGATIVE_INFINITY
  /** Ends when the suspect may run, or was given back. */
  #waiting: Promise<boolean> = Promise.resolve(false)

  constructor(ports: SoloPorts) {
    this.#ports = ports
  }

  /** True while nothing may be popped or started: somebody runs alone, or is about to. */
  get holding(): boolean {
    return this.#hold.signal.aborted
  }

  /** Aborts when a pop that waits should end, because somebody wants to run alone. */
  get signal(): AbortSignal {
    return this.#hold.signal
  }

  /** Suspects of a job: they run alone, one after the other, as soon as that may be; or they are hinted for later. */
  async suspects(handler: Handler, hints: readonly PoppedHint[]): Promise<void> {
    const { clock, push } = this.#ports
    const busy = this.holding || this.#stopped.signal.aborted
    const waitMs = busy ? elsewhereMs : Math.max(0, this.#restUntil - clock.now())
    if (waitMs === 0) void this.#turn(handler, [...hints])
    else await push(hints.map((hint) => ({ ...hint, delayMs: Math.max(waitMs, restMs) })))
  }

  /** Lets nobody begin; resolves when who waited has given back. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#waiting.catch(() => {})
  }

  /** Claims suspects one by one, waits until nothing else runs, and runs them; what is left over is hinted again. */
  async #turn(handler: Handler, left: PoppedHint[]): Promise<void> {
    const { clock, push, failed } = this.#ports
    const since = clock.now()
    let delayMs = 0
    this.#hold.abort()
    try {
      for (let until = Number.POSITIVE_INFINITY; left[0] && clock.now() < until; left.shift()) {
        const begunAt = this.#stopped.signal.aborted ? null : await this.#alone(handler, left[0])
        if (begunAt === null) {
          delayMs = elsewhereMs
          break
        }
        until = Math.min(until, begunAt + turnMs)
      }
    } catch (error) {
      failed(handler, error)
      delayMs = elsewhereMs
    }
    this.#hold = new AbortController()
    // Fair to the others: they had to wait so long, now they have as much.
    const now = clock.now()
    this.#restUntil = now + Math.max(now - since, restMs)
    const again = left.map((hint) => ({ ...hint, delayMs: Math.max(delayMs, this.#restUntil - now) }))
    if (again.length > 0) await push(again)
  }

  /** When it began; null when it may not be run alone now: another process runs one of this job, or it has changed. */
  async #alone(handler: Handler, hint: PoppedHint): Promise<number | null> {
    const { clock, reserve, run, giveBack } = this.#ports
    const entry = await reserve(handler, hint)
    if (!entry) return null
    try {
      this.#waiting = this.#emptied(entry)
      const empty = await this.#waiting
      const begunAt = clock.now()
      if (empty) await run(handler, hint, entry)
      return begunAt
    } catch (error) {
      // Whatever failed, it has not started: a claim that stays known would be held for ever (M31).
      await giveBack(entry).catch(() => {})
      throw error
    }
  }

  /** True when nothing runs any more; false when the worker stopped first, and the claim was given back. */
  async #emptied(entry: Taken): Promise<boolean> {
    const { clock, slots, stuck, popped, giveBack } = this.#ports
    const stopped = this.#stopped.signal
    await popped()
    const empty = () => slots.free >= slots.size - stuck()
    while (!empty() && !stopped.aborted) {
      // A slot that gets stuck is not released: looked at again each second.
      await slots.freed(empty, { signal: stopped, timeout: { clock, ms: 1_000 } })
    }
    if (stopped.aborted) await giveBack(entry)
    return !stopped.aborted
  }
}
