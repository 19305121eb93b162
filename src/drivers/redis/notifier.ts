// Wakes idle pops. A push of another process leaves a token in a list that this process is blocked on, on a connection of its own
// per slot. It only makes pops quicker: they still look once a second.
import type { Clock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { type Waiter, Waiters } from '../../queue/waiters.ts'
import { Line, type LineOptions } from './connection.ts'
import type { Places, Slot } from './keys.ts'

/** A blocked read ends after so long by itself; one that does not within `patienceMs` has lost its connection (F24). */
const blockedMs = 1_000
const patienceMs = 2_000
/** After an error; the loop goes on in any case. */
const restMs = 250
/** A call for a process that ended goes away by itself. */
const callMs = 5_000

interface Listening {
  readonly slot: Slot
  readonly line: Line
  /** Jobs by their key; undefined: nothing is blocked there now. */
  jobs: ReadonlyMap<string, string> | undefined
}

export interface NotifierPorts extends Omit<LineOptions, 'patienceMs'> {
  readonly clock: Clock
  readonly places: Places
  /** The ordinary connection: a command that needs no answer. */
  readonly send: (key: string, args: string[]) => void
  /** A token came for a job that no pop of this process waits for now: it belongs to another one. */
  readonly passOn: (job: string) => void
}

export class Notifier {
  readonly waiters: Waiters
  readonly #ports: NotifierPorts
  readonly #id = systemRandom.hex(8)
  readonly #slots = new Map<Slot, Listening>()
  readonly #over = new AbortController()

  constructor(ports: NotifierPorts) {
    this.#ports = ports
    this.waiters = new Waiters(ports.clock, (waiter) => this.#listen(waiter))
  }

  /** Ends the blocked connections; others are made. */
  drop(): void {
    for (const { line } of this.#slots.values()) line.drop()
  }

  close(): void {
    this.#over.abort()
    for (const { line } of this.#slots.values()) line.close()
    this.waiters.close()
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
        if (job !== undefined && !this.waiters.wake([job])) passOn(job)
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

  /** Jobs of this slot that a sleeping pop waits for, by the key of their list. */
  #wanted(slot: Slot): ReadonlyMap<string, string> {
    const wanted = new Map<string, string>()
    for (const waiter of this.waiters.asleep())
      for (const job of waiter.jobs.keys()) {
        const place = this.#ports.places.of(job)
        if (place.slot === slot) wanted.set(place.wake, job)
      }
    return wanted
  }
}
