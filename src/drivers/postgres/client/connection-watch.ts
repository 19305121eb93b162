// Closes connections that lead nowhere: after a failover that nobody has reported, or behind a firewall that forgot them, a
// statement waits for an answer that never comes. In: connections while they are in use. Out: one that has had no answer for
// a while is looked up over a new connection; when the server knows nothing of it, it is closed, and what waits on it fails (S16).
import type { Clock } from '../../../base/clock.ts'
import { withDeadline } from '../../../base/deadline.ts'
import { readable } from '../../../base/duration.ts'
import type { SqlExecutor } from '../../sql/client.ts'
import { type PgClient, type PgPool, quieten } from './client.ts'
import type { LoneClient } from './listen.ts'
import { ownStatement } from './own-statement.ts'
import { endProcesses, knownProcess, lookAt, processOf, type ServerProcess } from './server-process.ts'

/** The longest time without an answer after which a connection is looked up; shorter with a short lease. */
const silentMostMs = 5_000
const silentLeastMs = 1_000
/** Longer than anybody waits for a statement of regrow's own (store/resilient-store.ts): its connection is of no use any more. */
const dueMs = 30_000
/** What a new connection and a short question may take. */
const askMs = 10_000

export interface WatchPorts {
  readonly clock: Clock
  readonly leaseMs: number
  /** Makes a connection outside of all pools; null where there can be none. */
  readonly make: (() => LoneClient) | null
}

/** A connection while somebody has it. */
interface Use {
  readonly client: PgClient
  /** What had been read from it when it was last seen to be well. */
  read: number | undefined
  /** Since when it waits for the same answer. */
  waitsFrom: number
  /** When it is closed whatever the server says. */
  endsAt: number
}

/** What is needed of a pool here. */
export type Connections = Pick<PgPool, 'connect'> & SqlExecutor

export class ConnectionWatch {
  readonly #clock: Clock
  readonly #make: WatchPorts['make']
  readonly #silentMs: number
  readonly #uses = new Map<PgClient, Use>()
  readonly #firstSeen = new WeakMap<PgClient, number>()
  /** Connections from before this moment are not used again. */
  #outdatedBefore = Number.NEGATIVE_INFINITY
  #looking = false

  constructor({ clock, leaseMs, make }: WatchPorts) {
    this.#clock = clock
    this.#make = make
    this.#silentMs = Math.min(silentMostMs, Math.max(silentLeastMs, leaseMs / 3))
  }

  /** The same pool, with an eye on the connections that it lends. */
  over(pool: Pick<PgPool, 'connect'>): Connections {
    const connect = () => this.#connect(pool)
    return {
      connect,
      query: async (text, params = []) => {
        const client = await connect()
        this.expect(client)
        // M44: a connection whose statement failed may be in the middle of anything.
        let broken = true
        try {
          const answer = await ownStatement(client, text, params)
          broken = false
          return answer
        } finally {
          client.release?.(broken)
        }
      },
    }
  }

  /** From now on only short statements of regrow's own go over it, until it is given back. */
  expect(client: PgClient): void {
    const use = this.#uses.get(client)
    if (use) use.endsAt = this.#clock.now() + dueMs
  }

  /** Closes a connection that is in use, and ends its process in the server, which may not notice for long. */
  close(client: PgClient, why: Error): void {
    closeAtOnce(client, why)
    const process = knownProcess(client)
    if (process) void this.#ask((lone) => endProcesses(lone, [process])).catch(() => {})
  }

  async #connect(pool: Pick<PgPool, 'connect'>): Promise<PgClient> {
    for (;;) {
      const client = await pool.connect()
      quieten(client)
      const firstSeen = this.#firstSeen.get(client)
      if (firstSeen === undefined) {
        this.#firstSeen.set(client, this.#clock.now())
        await this.#identify(client)
      } else if (firstSeen < this.#outdatedBefore) {
        client.release?.(true)
        continue
      }
      this.#lend(client)
      return client
    }
  }

  /** Asked while it is new and answers: later it may be too late. */
  async #identify(client: PgClient): Promise<void> {
    if (typeof client.processID !== 'number') return
    try {
      await withDeadline(this.#clock, askMs, 'A new connection', processOf(client))
    } catch (error) {
      closeAtOnce(client, error as Error)
      client.release?.(true)
      throw error
    }
  }

  #lend(client: PgClient): void {
    const { release } = client
    if (!release) return
    const now = this.#clock.now()
    this.#uses.set(client, { client, read: readBy(client), waitsFrom: now, endsAt: Number.POSITIVE_INFINITY })
    client.release = (broken) => {
      this.#uses.delete(client)
      release.call(client, broken)
    }
    this.#lookLater()
  }

  /** Nothing is looked at while nothing is in use. */
  #lookLater(): void {
    if (this.#looking || this.#uses.size === 0) return
    this.#looking = true
    const look = async () => {
      await this.#look().catch(() => {})
      this.#looking = false
      this.#lookLater()
    }
    this.#clock.after(this.#silentMs / 2, () => void look(), { background: true })
  }

  async #look(): Promise<void> {
    const now = this.#clock.now()
    let silent = false
    for (const use of this.#uses.values()) {
      const read = readBy(use.client)
      // Idle inside a transaction it waits for its handler, and not for the server.
      if (read !== use.read || read === undefined || !isWaiting(use.client)) {
        use.read = read
        use.waitsFrom = now
      } else if (now - use.waitsFrom >= this.#silentMs) silent = true
      if (now >= use.endsAt) this.close(use.client, broken(`it had no answer within ${readable(dueMs)}`))
    }
    if (silent) await this.#ask((lone) => this.#closeLost(lone))
  }

  /** Asked of all that are in use: one that is not silent yet may be lost as well. */
  async #closeLost(lone: LoneClient): Promise<void> {
    const askedAt = this.#clock.now()
    const uses = [...this.#uses.values()].filter(({ client }) => knownProcess(client))
    const processes = uses.map(({ client }) => knownProcess(client) as ServerProcess)
    const seen = await lookAt(lone, processes, this.#silentMs)
    if (!seen) return
    const isLost = (use: Use, i: number) =>
      this.#uses.get(use.client) === use &&
      // An answer may have come meanwhile: a process that was busy for long reads late what is there already.
      (seen[i] === 'gone' || (seen[i] === 'idle' && this.#isSilent(use, askedAt)))
    const found = uses.filter(isLost)
    if (found.length === 0) return
    this.#outdatedBefore = askedAt
    for (const { client } of found) closeAtOnce(client, broken('the server knows nothing of what it was asked over it'))
    await endProcesses(
      lone,
      found.map(({ client }) => knownProcess(client) as ServerProcess),
    )
  }

  #isSilent({ client, read, waitsFrom }: Use, at: number): boolean {
    return at - waitsFrom >= this.#silentMs && isWaiting(client) && readBy(client) === read
  }

  /** Over a connection of its own: those of the pools may all lead nowhere. */
  async #ask(question: (lone: LoneClient) => Promise<void>): Promise<void> {
    const lone = this.#make?.()
    if (!lone) return
    lone.on('error', () => {})
    const asked = lone.connect().then(() => question(lone))
    try {
      await withDeadline(this.#clock, askMs, 'A new connection', asked)
    } finally {
      lone.connection?.stream?.destroy?.()
    }
  }
}

/** Fails what waits on a connection, and all that comes after it. */
export function closeAtOnce(client: PgClient, why: Error): void {
  client.connection?.stream?.destroy?.(why)
}

const readBy = ({ connection }: PgClient) => connection?.stream?.bytesRead

/** True while a statement has no answer; a client that does not tell has none. */
const isWaiting = ({ readyForQuery }: PgClient) => readyForQuery === false

/** As when the other end had said so. */
const broken = (why: string) => Object.assign(new Error(`The connection was closed: ${why}`), { code: 'ECONNRESET' })
