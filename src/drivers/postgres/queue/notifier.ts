// Who waits for hints: a push says NOTIFY, one connection of this process hears it, and who waits for that job looks. It is only
// about latency: whatever is not heard, the polls of who waits find (F32).
import type { Clock } from '../../../base/clock.ts'
import { withDeadline } from '../../../base/deadline.ts'
import { pledge } from '../../../base/deferred.ts'
import { spread, systemRandom } from '../../../base/random.ts'

/**
 * What pushes notify and bells listen to, in the database that the hints are in. The payload is a job; empty: any job. A push of one
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

/** A hint that a push has told by name. */
export interface NamedHint {
  readonly job: string
  readonly key: string
}

/** A pop that waits, or is about to. */
export interface Waiter {
  /** Jobs that it waits for, and whether it wants to know which hint of them it is. */
  readonly jobs: ReadonlyMap<string, boolean>
  /** Somebody pushed since the last look. Who looks puts it back before. */
  rung: boolean
  /** Set while it rests. */
  wake: (() => void) | undefined
  /** The hint that it was woken for; it need not look for it. */
  named: NamedHint | undefined
}

export class Bell {
  readonly #clock: Clock
  readonly #listen: Listen | null
  readonly #waiters = new Set<Waiter>()
  #heard: ListenConnection | undefined
  #tending: Promise<void> | undefined
  /** Ends the nap of who tends the connection. */
  #stir: AbortController = new AbortController()
  #restedAt = Number.NEGATIVE_INFINITY
  /** A pooler is in between. */
  #deaf = false
  #closed = false

  /** `listen: null` where no connection of one's own can be made: one client, PGlite. Then only this process rings. */
  constructor({ clock, listen }: { readonly clock: Clock; readonly listen: Listen | null }) {
    this.#clock = clock
    this.#listen = listen
  }

  /** True while pushes of other processes are heard. While it is false, who waits has to look often. */
  get listening(): boolean {
    return this.#heard !== undefined
  }

  /** A push from now on is not slept through: `join`, look, `rest`; `leave` at the end. */
  join(jobs: Waiter['jobs']): Waiter {
    const waiter: Waiter = { jobs, rung: false, wake: undefined, named: undefined }
    this.#waiters.add(waiter)
    return waiter
  }

  leave(waiter: Waiter): void {
    this.#waiters.delete(waiter)
  }

  /** Wakes who waits in this process for one of these jobs: sooner than the server would tell it. */
  ring(jobs: Iterable<string>): void {
    if (this.#waiters.size === 0) return
    for (const job of jobs) for (const waiter of this.#waiters) if (waiter.jobs.has(job)) wake(waiter)
  }

  /** As `ring`, for one hint of which its push said so. */
  #tell(hint: NamedHint): void {
    for (const waiter of this.#waiters) {
      const wants = waiter.jobs.get(hint.job)
      if (wants === undefined) continue
      if (wants && waiter.wake && !waiter.rung) waiter.named ??= hint
      wake(waiter)
    }
  }

  /** Waits until it rings, for `ms`, or until `signal` aborts or the bell is closed. The first one opens the connection. */
  async rest(waiter: Waiter, ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (waiter.rung || signal?.aborted || this.#closed) return
    const { promise, resolve } = pledge()
    const stopTimer = this.#clock.after(ms, resolve)
    signal?.addEventListener('abort', resolve)
    waiter.wake = resolve
    this.#restedAt = this.#clock.now()
    if (this.#listen && !this.#deaf) this.#tending ??= this.#tend(this.#listen)
    await promise
    stopTimer()
    signal?.removeEventListener('abort', resolve)
    waiter.wake = undefined
    this.#restedAt = this.#clock.now()
  }

  /** Whether a connection of one's own can listen here; it is tried, and closed again. */
  async hears(): Promise<boolean> {
    if (this.#heard || !this.#listen || this.#deaf) return this.listening
    const opening = this.#listen({ notified: () => {}, ended: () => {} })
    const connection = await withDeadline(this.#clock, connectMs, 'LISTEN', opening)
    await connection?.close()
    return connection !== undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stir.abort()
    this.#ringAll()
    await this.#tending
  }

  #ringAll(): void {
    for (const waiter of this.#waiters) wake(waiter)
  }

  get #wanted(): boolean {
    if (this.#closed) return false
    if (this.#clock.now() - this.#restedAt < idleMs) return true
    for (const waiter of this.#waiters) if (waiter.wake) return true
    return false
  }

  /** Keeps one connection listening for as long as somebody waits. It never rejects: without one, there are the polls. */
  async #tend(listen: Listen): Promise<void> {
    let delayMs = backOffMs.first
    while (this.#wanted && !this.#deaf) {
      const stir = new AbortController()
      this.#stir = stir
      const begun = this.#clock.now()
      const connection = await this.#open(listen, stir)
      if (connection) {
        await this.#hear(connection, stir.signal)
        const closing = connection.close().catch(() => {})
        // The next one does not wait for one that leads nowhere.
        if (!this.#wanted) await closing
      }
      if (!this.#wanted || this.#deaf) break
      if (this.#clock.now() - begun > backOffMs.most) delayMs = backOffMs.first
      this.#stir = new AbortController()
      await this.#clock.sleep(spread(systemRandom, delayMs, 0.25), this.#stir.signal)
      delayMs = Math.min(delayMs * 2, backOffMs.most)
    }
    // In the same turn as the last look at who waits: the next one to rest begins anew.
    this.#tending = undefined
  }

  async #open(listen: Listen, stir: AbortController): Promise<ListenConnection | undefined> {
    const { promise: stirred, resolve } = pledge()
    stir.signal.addEventListener('abort', resolve)
    const opening = listen({
      notified: (payload) => {
        const [job = '', key] = payload.split(divider)
        if (job === '') this.#ringAll()
        else if (key === undefined) this.ring([job])
        else this.#tell({ job, key })
      },
      ended: () => stir.abort(),
    })
    try {
      const inTime = withDeadline(this.#clock, connectMs, 'LISTEN', opening)
      const connection = await Promise.race([inTime, stirred])
      if (!stir.signal.aborted) {
        this.#deaf = connection === undefined
        return connection ?? undefined
      }
    } catch {
      // Refused, or not in time: the next try comes.
    }
    // One that comes after all is nobody's.
    opening.then((late) => late?.close()).catch(() => {})
    return undefined
  }

  /** Until it ends, says nothing, or nobody needs it. */
  async #hear(connection: ListenConnection, ended: AbortSignal): Promise<void> {
    this.#heard = connection
    // What was pushed before it listened, nobody told: whoever waits looks once more.
    this.#ringAll()
    while (!ended.aborted) {
      await this.#clock.sleep(heartbeat.everyMs, ended)
      if (ended.aborted || !this.#wanted) break
      // A connection that nobody closed and that leads nowhere looks like one on which nothing happens.
      const answered = await withDeadline(this.#clock, heartbeat.patienceMs, 'LISTEN', connection.ping()).then(
        () => true,
        () => false,
      )
      if (!answered) break
    }
    this.#heard = undefined
    // Whoever rests for long, because it would be told, has to look often from now on.
    this.#ringAll()
  }
}

function wake(waiter: Waiter): void {
  waiter.rung = true
  waiter.wake?.()
}
