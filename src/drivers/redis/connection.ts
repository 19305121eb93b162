// One connection that is there whenever it is used: opened by the next call after it broke, given up when it goes quiet.
// Every call ends (S16): with its answer, its error, or that of a server that said nothing for too long.
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { readable } from '../../base/duration.ts'
import { RegrowError } from '../../base/errors.ts'
import { isAnswer, isMisplaced } from './client.ts'
import type { Dial, Wire } from './client-adapters.ts'

/** After a connection could not be made, calls fail at once for a while: they do not pile up at a server that is away. */
const restMs = { first: 50, most: 500 }
const connectMs = 2_500
/** How often somebody looks whether answers still come, while some are awaited. */
const lookMs = 500

export interface LineOptions {
  readonly dial: Dial
  readonly clock: Clock
  /** So long without any answer, while one is awaited, and the connection is given up (F24). */
  readonly patienceMs: number
  /** The server is not the one that it was: other connections to it have to be made anew, too. */
  readonly onMisplaced?: () => void
}

export class Line {
  readonly #options: LineOptions
  #wire: Wire | undefined
  /** The one that was given up last because it answered nothing. */
  #silent: Wire | undefined
  #opening: Promise<Wire> | undefined
  #refused: { readonly error: unknown; readonly until: number; readonly restMs: number } | undefined
  #awaited = 0
  #answeredAt = 0
  #watch: (() => void) | undefined
  #closed = false

  constructor(options: LineOptions) {
    this.#options = options
  }

  /** Calls that are not answered yet. */
  get awaited(): number {
    return this.#awaited
  }

  send(key: string, args: string[]): Promise<unknown> {
    const wire = this.#wire
    return wire?.usable ? this.#over(wire, key, args) : this.#open().then((made) => this.#over(made, key, args))
  }

  /** M23: ends the connection; the next call makes another one. What is awaited on it fails. */
  drop(): void {
    const wire = this.#wire
    this.#wire = undefined
    wire?.end()
  }

  close(): void {
    this.#closed = true
    this.#watch?.()
    this.drop()
  }

  async #over(wire: Wire, key: string, args: string[]): Promise<unknown> {
    const { clock, onMisplaced } = this.#options
    if (this.#awaited++ === 0) this.#answeredAt = clock.now()
    this.#watch ??= clock.after(lookMs, this.#look)
    try {
      return await wire.send(key, args)
    } catch (error) {
      if (isMisplaced(error)) onMisplaced?.()
      if ((isMisplaced(error) || !isAnswer(error)) && this.#wire === wire) this.drop()
      throw wire === this.#silent ? silentError(this.#options.patienceMs) : error
    } finally {
      this.#awaited--
      this.#answeredAt = clock.now()
    }
  }

  #open(): Promise<Wire> {
    const { clock } = this.#options
    if (this.#closed) return Promise.reject(closedError())
    if (this.#refused && clock.now() < this.#refused.until) return Promise.reject(this.#refused.error)
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #connect(): Promise<Wire> {
    const { dial, clock } = this.#options
    this.drop()
    const wire = dial()
    try {
      const connected = wire.connect()
      connected.catch(() => {})
      await withDeadline(clock, connectMs, 'Redis', connected)
      if (this.#closed) throw closedError()
    } catch (error) {
      wire.end()
      const waitMs = this.#refused ? Math.min(2 * this.#refused.restMs, restMs.most) : restMs.first
      this.#refused = { error, until: clock.now() + waitMs, restMs: waitMs }
      throw error
    }
    this.#refused = undefined
    this.#wire = wire
    return wire
  }

  readonly #look = (): void => {
    this.#watch = undefined
    if (this.#awaited === 0 || this.#closed) return
    if (this.#options.clock.now() - this.#answeredAt >= this.#options.patienceMs) {
      this.#silent = this.#wire
      this.drop()
    }
    this.#watch = this.#options.clock.after(lookMs, this.#look)
  }
}

/** In our words: the client would only say that it was ended. */
const silentError = (ms: number) =>
  new RegrowError('deadline', `Redis said nothing for ${readable(ms)}`, 'Is the server reachable, and not overloaded?')

const closedError = () =>
  new RegrowError('queue_closed', 'The queue was closed', 'Enqueue and work before app.close().')
