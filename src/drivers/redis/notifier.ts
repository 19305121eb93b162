// Who waits for hints: a push rings a bell that idle poppers are blocked on, so nobody polls. A blocked read has a
// connection of its own, one per slot. It is only about latency: a floor of polls lies under it.
import type { Clock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import type { Popped } from '../../queue/queue.ts'
import { Line, type LineOptions } from './connection.ts'
import type { Places, Slot } from './keys.ts'

/** A blocked read ends after so long by itself; one that does not within `patienceMs` has lost its connection (F24). */
const blockedMs = 1_000
const patienceMs = 2_000
/** After an error; the loop goes on in any case. */
const restMs = 250
/** A call for a process that ended goes away by itself. */
const callMs = 5_000

/** A pop that waits, or is about to. */
export interface Waiter {
  /** How many hints it has room for, by job. */
  readonly jobs: ReadonlyMap<string, number>
  /** Somebody pushed since the last look. */
  rung: boolean
  wake: (() => void) | undefined
  /** What a push of this process handed over to it. */
  given: Popped | undefined
}

interface Listening {
  readonly slot: Slot
  readonly line: Line
  /** Jobs by their key; undefined: nothing is blocked there now. */
  jobs: ReadonlyMap<string, string> | undefined
}

export interface BellPorts extends Omit<LineOptions, 'patienceMs'> {
  readonly clock: Clock
  readonly places: Places
  /** The ordinary connection: a command that needs no answer. */
  readonly send: (key: string, args: string[]) => void
  /** A token came for a job that nobody here waits for now: who else does must learn of it. */
  readonly passOn: (job: string) => void
}

export class Bells {
  readonly #ports: BellPorts
  readonly #id = systemRandom.hex(8)
  readonly #waiters = new Set<Waiter>()
  readonly #slots = new Map<Slot, Listening>()
  readonly #over = new AbortController()

  constructor(ports: BellPorts) {
    this.#ports = ports
  }

  /** Listens from now on; `rest` before waiting, `leave` at the end. */
  join(jobs: ReadonlyMap<string, number>): Waiter {
    const waiter: Waiter = { jobs, rung: false, wake: undefined, given: undefined }
    this.#waiters.add(waiter)
    return waiter
  }

  leave(waiter: Waiter): void {
    this.#waiters.delete(waiter)
  }

  /** Wakes who waits for one of these jobs; false when nobody does. */
  ring(jobs: Iterable<string>): boolean {
    if (this.#waiters.size === 0) return false
    let heard = false
    for (const job of jobs)
      for (const waiter of this.#waiters)
        if (waiter.jobs.has(job)) {
          heard = waiter.rung = true
          this.#wake(waiter)
        }
    return heard
  }

  /** Hands hints of one job over to who waits and has room for all of them; false: nobody does. */
  give(job: string, popped: Popped): boolean {
    for (const waiter of this.#waiters)
      if (waiter.wake && (waiter.jobs.get(job) ?? 0) >= popped.hints.length) {
        waiter.given = popped
        this.#wake(waiter)
        return true
      }
    return false
  }

  /** Waits until the bell rings, for `ms`, or until `signal` aborts or the queue closes. */
  async rest(waiter: Waiter, ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (waiter.rung || signal?.aborted || this.#over.signal.aborted) return
    let end = () => {}
    await new Promise<void>((resolve) => {
      const stopTimer = this.#ports.clock.after(ms, resolve)
      signal?.addEventListener('abort', resolve as () => void)
      end = () => {
        stopTimer()
        signal?.removeEventListener('abort', resolve as () => void)
      }
      waiter.wake = resolve
      this.#listen(waiter)
    })
    end()
    waiter.wake = undefined
  }

  /** Ends the blocked connections; others are made. */
  drop(): void {
    for (const { line } of this.#slots.values()) line.drop()
  }

  close(): void {
    this.#over.abort()
    for (const { line } of this.#slots.values()) line.close()
    for (const waiter of this.#waiters) waiter.wake?.()
  }

  #wake(waiter: Waiter): void {
    const { wake } = waiter
    // From now on it does not wait: nothing is blocked for it before it looked.
    waiter.wake = undefined
    wake?.()
  }

  #listen(waiter: Waiter): void {
    const { places, send } = this.#ports
    const called = new Set<Slot>()
    for (const job of waiter.jobs.keys()) {
      const { slot, wake } = places.of(job)
      const listening = this.#slots.get(slot)
      if (!listening?.jobs) void this.#loop(slot)
      else if (!listening.jobs.has(wake) && !called.has(slot)) {
        // Blocked on other jobs only: it is called, and then begins again with all of them.
        called.add(slot)
        const key = slot.call(this.#id)
        send(key, ['RPUSH', key, '1'])
        send(key, ['PEXPIRE', key, String(callMs)])
      }
    }
  }

  async #loop(slot: Slot): Promise<void> {
    const { clock, passOn } = this.#ports
    const listening = this.#listening(slot)
    const call = slot.call(this.#id)
    for (;;) {
      const jobs = this.#wanted(slot)
      if (jobs.size === 0 || this.#over.signal.aborted) break
      listening.jobs = jobs
      try {
        const reply = await listening.line.send(call, ['BLPOP', call, ...jobs.keys(), String(blockedMs / 1_000)])
        const job = Array.isArray(reply) ? jobs.get(String(reply[0])) : undefined
        if (job !== undefined && !this.ring([job])) passOn(job)
      } catch {
        // M23: whatever happened to it, the next round has a connection again.
        await clock.sleep(restMs, this.#over.signal)
      }
    }
    listening.jobs = undefined
  }

  #listening(slot: Slot): Listening {
    const { dial, clock, onMisplaced } = this.#ports
    const there = this.#slots.get(slot)
    if (there) return there
    const line = new Line({
      dial,
      clock,
      patienceMs: blockedMs + patienceMs,
      ...(onMisplaced ? { onMisplaced } : {}),
    })
    const made: Listening = { slot, line, jobs: undefined }
    this.#slots.set(slot, made)
    return made
  }

  /** Jobs of this slot that somebody waits for now, by the key of their bell. */
  #wanted(slot: Slot): ReadonlyMap<string, string> {
    const wanted = new Map<string, string>()
    for (const waiter of this.#waiters)
      if (waiter.wake)
        for (const job of waiter.jobs.keys()) {
          const place = this.#ports.places.of(job)
          if (place.slot === slot) wanted.set(place.wake, job)
        }
    return wanted
  }
}
