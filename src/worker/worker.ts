// The upper arrow: pop → take → check → run → settle. This file alone knows the order of the stages.
import type { Clock } from '../base/clock.ts'
import type { Events } from '../base/events.ts'
import type { LoopSpec } from '../base/loop.ts'
import type { Random } from '../base/random.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import type { PoppedHint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import type { PopQueue } from '../queue/queue.ts'
import type { Store } from '../store/store.ts'
import type { Taken } from './batch.ts'
import { beatLoop } from './beat.ts'
import { check } from './check.ts'
import { Claims } from './claims.ts'
import { react } from './react.ts'
import { run } from './run.ts'
import { settle } from './settle.ts'
import { take } from './take.ts'

export interface WorkerPorts {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events<EventMap>
  readonly store: Store
  readonly queue: PopQueue
  readonly push: Push
  readonly jobs: readonly Job[]
  readonly leaseMs: number
  /** Handlers at a time. */
  readonly concurrency: number
}

/** A pop waits so long at most; the floor under every wake-up. */
const pollMs = 1_000
/** How soon to look again for a free slot, or a confirmed beat. */
const soonMs = 20

export class Worker {
  readonly claims: Claims
  readonly #ports: WorkerPorts
  #busy = 0

  constructor(ports: WorkerPorts) {
    this.#ports = ports
    this.claims = new Claims(ports.random)
  }

  loops(): LoopSpec[] {
    const { clock, store, leaseMs } = this.#ports
    return [beatLoop(clock, store.workers, this.claims, leaseMs), { name: 'pop', tick: (signal) => this.#pop(signal) }]
  }

  async #pop(signal: AbortSignal): Promise<number> {
    const { jobs, concurrency, queue } = this.#ports
    // A worker takes no more than it has free slots.
    const limit = concurrency - this.#busy
    if (limit <= 0 || !this.#sure()) return soonMs
    const { hints } = await queue.pop({ jobs: jobs.map(({ name }) => name), limit, waitMs: pollMs }, signal)
    for (const job of jobs)
      void this.#through(
        job,
        hints.filter((hint) => hint.job === job.name),
      )
    return 0
  }

  /** A batch of one job along the arrow. Store errors are nobody's failure: the hints go back. */
  async #through(job: Job, hints: readonly PoppedHint[]): Promise<void> {
    if (hints.length === 0) return
    this.#busy += hints.length
    const ready = await this.#claim(job, hints).catch(async (error: unknown) => {
      this.#ports.events.emit('loop.failed', { loop: 'worker', error })
      await this.#ports.push(hints.map((hint) => ({ ...hint, delayMs: 1_000 })))
      return []
    })
    this.#busy -= hints.length - ready.length
    for (const entry of ready) void this.#finish(job, entry).finally(() => this.#busy--)
  }

  /** Take, then check; what may not start is released and gets what its verdict asks for. */
  async #claim(job: Job, hints: readonly PoppedHint[]): Promise<Taken[]> {
    const { store, push } = this.#ports
    const { taken, refused } = await take(store.ledger, this.claims, hints)
    await push(react(refused))
    try {
      const { ready, stopped } = await check(store.source(job), taken)
      await this.#release(stopped)
      // No start on a lease that may be over: an event loop blocked for a lease wakes up here.
      if (this.#sure()) return ready
      throw new Error('no beat was confirmed for most of a lease')
    } catch (error) {
      await this.#release(taken)
      throw error
    }
  }

  /** Run, then settle, then the hint for the retry: database first, queue second. */
  async #finish(job: Job, entry: Taken): Promise<void> {
    const { store, random, events, push } = this.#ports
    const ended = await run(store, this.claims, job, entry)
    try {
      const settled = await settle(store.ledger, this.claims, random, job, [ended])
      for (const { key, state, error, retryMs, held } of settled) {
        if (!held) events.emit('job.leaseLost', { job: job.name, key })
        else events.emit('job.settled', { job: job.name, key, state, error })
        if (held && state === 'retrying') await push([{ job: job.name, key, delayMs: retryMs, fresh: false }])
      }
    } catch (error) {
      // The store did not take the outcome: the beat gives the key back, or somebody frees it.
      events.emit('loop.failed', { loop: 'settle', error })
    }
    this.claims.forget(entry.take)
  }

  async #release(entries: readonly Taken[]): Promise<void> {
    // Whatever becomes of the release: the beat gives back what is no longer known.
    for (const { take } of entries) this.claims.forget(take)
    const claims = entries.map(({ hint: { job, key }, take }) => ({ job, key, take }))
    if (claims.length > 0) await this.#ports.store.ledger.release(this.claims.holder, claims)
  }

  #sure(): boolean {
    return this.claims.sure(this.#ports.clock.now(), this.#ports.leaseMs)
  }
}
