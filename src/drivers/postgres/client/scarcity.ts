// A server that has no connection left: pools of this process wait for one instead of failing, give back what they do not need, and
// handlers start when there is a connection for their transaction.
import type { Clock } from '../../../base/clock.ts'
import { messageOf } from '../../../base/errors.ts'
import { spread, systemRandom } from '../../../base/random.ts'
import type { Listen } from '../queue/notifier.ts'
import { sqlState } from '../store/errors.ts'
import { type PgClient, type PgPool, quieten } from './client.ts'

/** Connections count as scarce until this long after the last refusal. */
const scarceMs = 30_000
/** How long a call waits for a connection, as for one that is slow to connect; between tries, at first and at most. */
const patienceMs = 10_000
const againMs = { first: 50, most: 1_000 }
/** A pool that is bounded because of a refusal may have one connection more after so long. */
const growMs = 2_000

/** What all pools of a process know. */
export class Scarcity {
  readonly clock: Clock
  readonly #onset: (() => void)[] = []
  #until = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** True while the server has refused a connection not long ago. */
  get scarce(): boolean {
    return this.clock.now() < this.#until
  }

  /** Milliseconds since the last refusal. */
  get calmMs(): number {
    return this.clock.now() - this.#until + scarceMs
  }

  /** Calls `give` when connections become scarce. */
  onOnset(give: () => void): void {
    this.#onset.push(give)
  }

  refused(): void {
    const before = this.scarce
    this.#until = this.clock.now() + scarceMs
    if (!before) for (const give of this.#onset) give()
  }
}

export interface SparingOptions {
  /** Idle connections that it keeps while they are scarce. Infinity: the pool is not ours to empty. */
  readonly keep: number
  /** How its connections are had; defaults to the pool itself. */
  readonly through?: Pick<PgPool, 'connect'>
}

/** A pool whose `connect` waits while the server has no connection left. */
export class SparingPool implements Pick<PgPool, 'connect'> {
  readonly #pool: PgPool
  readonly #through: Pick<PgPool, 'connect'>
  readonly #scarcity: Scarcity
  readonly #keep: number
  /** Handed out now. */
  #lent = 0
  /** How many may be handed out while connections are scarce, and since when: one more whenever nothing was refused for a while. */
  #allowed = { count: Number.POSITIVE_INFINITY, at: 0 }
  #waiting: (() => void)[] = []
  /** Connections for runs that are about to start or have begun, and the number of these runs. */
  readonly #reserved: PgClient[] = []
  #reservations = 0

  constructor(pool: PgPool, scarcity: Scarcity, { keep, through = pool }: SparingOptions) {
    this.#pool = pool
    this.#through = through
    this.#scarcity = scarcity
    this.#keep = keep
    scarcity.onOnset(() => {
      this.#allowed = { count: this.#isOurs ? 1 : Number.POSITIVE_INFINITY, at: scarcity.clock.now() }
      void this.#shed()
    })
  }

  get #isOurs(): boolean {
    return this.#keep !== Number.POSITIVE_INFINITY
  }

  connect(): Promise<PgClient> {
    const reserved = this.#reserved.pop()
    return reserved ? Promise.resolve(reserved) : this.#lend()
  }

  /**
   * Null while there are enough connections. Else a connection is set aside for a run's transactions before it starts; the function that
   * it resolves to gives it back. Rejects when there is none in time.
   */
  reserve(): Promise<() => void> | null {
    if (!this.#scarcity.scarce) return null
    return this.#lend().then((client) => {
      this.#reservations++
      this.#setAside(client)
      return () => {
        this.#reservations--
        if (this.#reserved.length > this.#reservations) this.#reserved.pop()?.release?.()
      }
    })
  }

  /** A connection that its transaction has given back goes to the next one of a run that has a reservation. */
  #setAside(client: PgClient): void {
    const giveBack = client.release?.bind(client)
    const release = (destroy?: boolean | Error) => {
      if (!destroy && this.#reserved.length < this.#reservations && !this.#reserved.includes(client))
        this.#reserved.push(client)
      else giveBack?.(destroy)
    }
    Object.assign(client, { release })
    this.#reserved.push(client)
  }

  async #lend(): Promise<PgClient> {
    const { clock } = this.#scarcity
    const until = clock.now() + patienceMs
    for (let waitMs = againMs.first; ; waitMs = Math.min(waitMs * 2, againMs.most)) {
      if (this.#scarcity.scarce) await this.#allowedOne(until)
      this.#lent++
      try {
        return this.#lentOut(await this.#through.connect())
      } catch (error) {
        this.#returned()
        if (!this.#isRefusal(error)) throw error
        this.#scarcity.refused()
        this.#allowed = { count: Math.max(1, Math.min(this.#allowed.count, this.#lent)), at: clock.now() }
        if (clock.now() + waitMs >= until) throw error
        await clock.sleep(spread(systemRandom, waitMs, 0.5))
      }
    }
  }

  #lentOut(client: PgClient): PgClient {
    quieten(client)
    const giveBack = client.release?.bind(client)
    const release = (destroy?: boolean | Error) => {
      const idle = this.#pool.idleCount
      giveBack?.(destroy || (this.#scarcity.scarce && idle >= this.#keep))
      this.#returned()
    }
    Object.assign(client, { release })
    return client
  }

  #returned(): void {
    this.#lent--
    this.#waiting.shift()?.()
  }

  /** Waits until one more may be handed out. */
  async #allowedOne(until: number): Promise<void> {
    const { clock } = this.#scarcity
    while (this.#scarcity.scarce) {
      if (Math.min(this.#scarcity.calmMs, clock.now() - this.#allowed.at) > growMs)
        this.#allowed = { count: this.#allowed.count + 1, at: clock.now() }
      if (this.#lent < this.#allowed.count) return
      if (clock.now() >= until)
        throw new Error('timeout exceeded when trying to connect: the server has no connection left')
      const woken = new AbortController()
      const wake = () => woken.abort()
      this.#waiting.push(wake)
      await clock.sleep(Math.min(until - clock.now(), growMs), woken.signal)
      this.#waiting = this.#waiting.filter((each) => each !== wake)
    }
  }

  /** The server, or a role's limit, accepts no connection now; or a pool that the user's code uses as well has none free. */
  #isRefusal(error: unknown): boolean {
    return sqlState(error) === '53300' || (!this.#isOurs && /timeout exceeded when trying/.test(messageOf(error)))
  }

  /** Closes what is idle. */
  async #shed(): Promise<void> {
    while (this.#pool.idleCount > this.#keep) {
      const client = await this.#pool.connect().catch(() => undefined)
      if (!client) return
      client.release?.(true)
    }
  }
}

/** Listens only while there are enough connections: without it, workers poll. */
export function sparingListen(scarcity: Scarcity, listen: Listen): Listen {
  let end = () => {}
  scarcity.onOnset(() => end())
  return async (on) => {
    if (scarcity.scarce) throw new Error('The server has no connection to spare for LISTEN')
    end = on.ended
    return listen(on)
  }
}
