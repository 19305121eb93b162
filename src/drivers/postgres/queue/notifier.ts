// Wakes idle pops. A push sends NOTIFY; this process listens on one connection and wakes every pop that waits for that job. It only
// makes them quicker: polls still find whatever a lost notification missed (F32).
import type { Clock } from '../../../base/clock.ts'
import { withDeadline } from '../../../base/deadline.ts'
import { pledge } from '../../../base/deferred.ts'
import { spread, systemRandom } from '../../../base/random.ts'
import { Waiters } from '../../../queue/waiters.ts'
import { type HintIdentity, receiptOf } from '../store/opaque.ts'

/**
 * What pushes notify and workers listen to, in the database that the hints are in. The payload is a job; empty: any job. A push of one
 * hint alone may add its key, behind U+001F.
 */
export const channel = 'regrow_hints'

/** Stands between a job and a key. */
const divider = '\u001f'

/** Keys that say nothing of anybody: every role of a database may listen. */
const isId = /^(-?\d{1,19}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** What a push of these hints of one job tells. One hint alone is told by name, so that who hears of it need not look. */
export function payloadOf(job: string, keys: readonly string[]): string {
  const [key] = keys
  return keys.length === 1 && key !== undefined && isId.test(key) ? job + divider + key : job
}

/** The connection is asked so often whether it is still there, and has so long to answer. */
const heartbeat = { everyMs: 2_000, patienceMs: 2_000 }
const connectMs = 5_000
/** Between two tries to listen; it starts anew after a connection that was there for longer than the longest one. */
const backOffMs = { first: 100, most: 5_000 }
/** Nobody waited for so long: the connection is closed. A worker that is busy needs none, and a process must be able to end. */
const idleMs = 10_000

/** Opens a connection that listens. Undefined: it could not be heard there, a pooler is in between. */
export type Listen = (on: ListenEvents) => Promise<ListenConnection | undefined>

export interface ListenEvents {
  notified(payload: string): void
  /** The connection is gone; nothing is heard any more. */
  ended(): void
}

export interface ListenConnection {
  /** Rejects when the connection is known to be dead; a dead one may as well never answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

export class Notifier {
  readonly waiters: Waiters
  readonly #clock: Clock
  readonly #listen: Listen | null
  #connection: ListenConnection | undefined
  #keeping: Promise<void> | undefined
  /** Ends a wait of the loop that keeps the connection. */
  #interrupt: AbortController = new AbortController()
  /** A pooler is in between. */
  #unavailable = false

  /** `listen: null` where no connection of one's own can be made: one client, PGlite. Then only pushes of this process wake. */
  constructor({ clock, listen }: { readonly clock: Clock; readonly listen: Listen | null }) {
    this.#clock = clock
    this.#listen = listen
    // The first pop that sleeps opens the connection.
    this.waiters = new Waiters(clock, () => {
      if (listen && !this.#unavailable) this.#keeping ??= this.#keep(listen)
    })
  }

  /** True while pushes of other processes are heard. While it is false, a pop that waits has to look often. */
  get listening(): boolean {
    return this.#connection !== undefined
  }

  /** Whether a connection of one's own can listen here; it is tried, and closed again. */
  async canListen(): Promise<boolean> {
    if (this.#connection || !this.#listen || this.#unavailable) return this.listening
    const opening = this.#listen({ notified: () => {}, ended: () => {} })
    const connection = await withDeadline(this.#clock, connectMs, 'LISTEN', opening)
    await connection?.close()
    return connection !== undefined
  }

  async close(): Promise<void> {
    this.waiters.close()
    this.#interrupt.abort()
    await this.#keeping
  }

  get #isWanted(): boolean {
    return !this.waiters.isClosed && this.#clock.now() - this.waiters.sleptAt < idleMs
  }

  /** Keeps one connection listening for as long as pops wait. It never rejects: without one, they poll. */
  async #keep(listen: Listen): Promise<void> {
    let delayMs = backOffMs.first
    while (this.#isWanted && !this.#unavailable) {
      const interrupt = new AbortController()
      this.#interrupt = interrupt
      const begun = this.#clock.now()
      const connection = await this.#open(listen, interrupt)
      if (connection) {
        await this.#use(connection, interrupt.signal)
        const closing = connection.close().catch(() => {})
        // The next one does not wait for one that leads nowhere.
        if (!this.#isWanted) await closing
      }
      if (!this.#isWanted || this.#unavailable) break
      if (this.#clock.now() - begun > backOffMs.most) delayMs = backOffMs.first
      this.#interrupt = new AbortController()
      await this.#clock.sleep(spread(systemRandom, delayMs, 0.25), this.#interrupt.signal)
      delayMs = Math.min(delayMs * 2, backOffMs.most)
    }
    // In the same turn as the last look at the pops that wait: the next one to sleep begins again.
    this.#keeping = undefined
  }

  async #open(listen: Listen, interrupt: AbortController): Promise<ListenConnection | undefined> {
    const { promise: interrupted, resolve } = pledge()
    interrupt.signal.addEventListener('abort', resolve)
    const opening = listen({ notified: (payload) => this.#notified(payload), ended: () => interrupt.abort() })
    try {
      const inTime = withDeadline(this.#clock, connectMs, 'LISTEN', opening)
      const connection = await Promise.race([inTime, interrupted])
      if (!interrupt.signal.aborted) {
        this.#unavailable = connection === undefined
        return connection ?? undefined
      }
    } catch {
      // Refused, or not in time: the next try comes.
    }
    // One that comes after all is not used.
    opening.then((late) => late?.close()).catch(() => {})
    return undefined
  }

  /** Until it ends, does not answer, or is not needed any more. */
  async #use(connection: ListenConnection, ended: AbortSignal): Promise<void> {
    this.#connection = connection
    // No notification says what was pushed before it listened: pops that wait look once more.
    this.waiters.wakeAll()
    while (!ended.aborted) {
      await this.#clock.sleep(heartbeat.everyMs, ended)
      if (ended.aborted || !this.#isWanted) break
      // A connection that was not closed and leads nowhere looks like one on which nothing happens.
      const answered = await withDeadline(this.#clock, heartbeat.patienceMs, 'LISTEN', connection.ping()).then(
        () => true,
        () => false,
      )
      if (!answered) break
    }
    this.#connection = undefined
    // A pop that sleeps long, because a notification would wake it, has to look often from now on.
    this.waiters.wakeAll()
  }

  #notified(payload: string): void {
    const [job = '', key] = payload.split(divider)
    if (job === '') this.waiters.wakeAll()
    else if (key === undefined) this.waiters.wake([job])
    else this.#pushedAlone({ job, key })
  }

  /** The hint is still in the queue, and its claim removes it, unless another worker is quicker: a pop that accepts it need not look. */
  #pushedAlone(hint: HintIdentity): void {
    for (const waiter of this.waiters.of(hint.job)) {
      const accepts = waiter.jobs.get(hint.job)?.receipts === true
      const popped = { hints: [{ ...hint, fresh: true }], mark: undefined, receipt: receiptOf(hint) }
      if (!(accepts && waiter.give(popped))) waiter.wake()
    }
  }
}
