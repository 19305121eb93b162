// What lies between a process and its servers. Every call is two events, the request that arrives and the reply that arrives,
// and anything can happen to either: lost, late, overtaken, doubled, or no answer at all.
import type { Chance } from '../../src/base/random.ts'
import type { Kernel } from './kernel.ts'
import type { SimProcess } from './sim-process.ts'
import type { Tally } from './tally.ts'
import type { Trace } from './trace.ts'

export type ServerName = 'store' | 'queue'

/** How likely each fault is, per call. */
export interface Weather {
  readonly requestLost: number
  readonly replyLost: number
  readonly silent: number
  readonly slow: number
  readonly twice: number
}

export const calm: Weather = { requestLost: 0, replyLost: 0, silent: 0, slow: 0, twice: 0 }

/** An error of the way, not of the server: nobody knows whether the call was done. */
export class WireError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Later than any deadline of a call. */
const lateMs = 28_000
/** How long a client waits on a connection that has gone silent. */
const patienceMs = 28_000

interface Server {
  /** Refuses connections, or lets them hang. */
  down: false | 'refuses' | 'hangs'
  /** Raised when it restarts: replies from before do not arrive. */
  lives: number
}

export interface Call<T> {
  readonly from: SimProcess
  readonly to: ServerName
  readonly name: string
  readonly work: () => Promise<T> | T
  /** For the story. */
  readonly words?: () => string
  /** Its client gives up after a while: what has no answer becomes an error. Of other calls the core must take care (S16). */
  readonly ends?: boolean
  /** One of a session, where nothing arrives twice. Defaults to false. */
  readonly once?: boolean
  /** Hears the answer when the process does, right before it. */
  readonly heard?: (answer: T) => void
}

export class Network {
  weather: Weather = calm
  /** True for a call that is to get no answer: set for one at a time, beside the weather. */
  mute: (from: SimProcess, name: string) => boolean = () => false
  /** True for a call that is to arrive after its deadline. */
  late: (from: SimProcess, name: string) => boolean = () => false
  /**
   * Hears of each port event of a process right before it happens: a request that is sent, a reply that is heard. The process
   * may die or freeze of it; an error that it returns breaks the call there.
   */
  onEvent: ((from: SimProcess, name: string) => Error | undefined) | undefined
  readonly servers: Readonly<Record<ServerName, Server>> = {
    store: { down: false, lives: 0 },
    queue: { down: false, lives: 0 },
  }
  readonly #kernel: Kernel
  readonly #chance: Chance
  readonly #tally: Tally
  readonly #trace: Trace
  #sent = 0
  readonly #arrived = new Map<string, number>()

  constructor(kernel: Kernel, chance: Chance, tally: Tally, trace: Trace) {
    this.#kernel = kernel
    this.#chance = chance
    this.#tally = tally
    this.#trace = trace
  }

  call<T>(call: Call<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (call.from.state === 'dead') return
      const broken = this.onEvent?.(call.from, `${call.name} sent`)
      call.from.hear(() => this.#send(call, broken, resolve, reject))
    })
  }

  #send<T>(
    { from, to, name, work, words, ends, once, heard }: Call<T>,
    broken: Error | undefined,
    resolve: (answer: T) => void,
    reject: (error: unknown) => void,
  ): void {
    const server = this.servers[to]
    const order = ++this.#sent
    const { lives } = server
    this.#trace.tell(from.name, `→ ${name}`, words)
    const fail = (error: unknown) =>
      this.#hearing(from, name, (ended = error) => {
        this.#trace.tell(from.name, `✗ ${name}`, () => String((ended as Error).message))
        reject(ended)
      })
    const succeed = (answer: T) =>
      this.#hearing(from, name, (ended) => {
        if (ended) return reject(ended)
        if (server.lives !== lives) return reject(terminated(name))
        this.#trace.tell(from.name, `← ${name}`, () => shown(answer))
        heard?.(answer)
        resolve(answer)
      })
    if (broken) return void fail(broken)
    if (this.#strikes('requestLost')) {
      this.#tally.fault('request lost')
      fail(terminated(name))
      return
    }
    const silent = this.#strikes('silent') || this.mute(from, name)
    const noAnswer = () => ends && from.hearAfter(patienceMs, () => reject(terminated(name)))
    if (silent) {
      this.#tally.fault('answer that never came')
      from.unanswered++
      noAnswer()
      if (this.#chance.float() < 0.5) return
    }
    this.#kernel.after(this.late(from, name) ? lateMs : this.#delay(), () => {
      if (server.down === 'hangs') {
        from.unanswered++
        return void noAnswer()
      }
      if (server.down === 'refuses') return fail(new WireError('ECONNREFUSED', `connect ECONNREFUSED: ${name}`))
      if (server.lives !== lives) return fail(terminated(name))
      this.#noteOrder(`${from.name} ${to}`, order)
      const replyLost = this.#strikes('replyLost')
      const twice = !once && this.#strikes('twice')
      const run = async () => {
        const answer = await work()
        if (!twice) return answer
        this.#tally.fault('request delivered twice')
        return work()
      }
      run().then((answer) => {
        if (silent) return
        if (!replyLost) return void succeed(answer)
        this.#tally.fault('reply lost after the commit')
        fail(terminated(name))
      }, fail)
    })
  }

  /** A reply reaches its process, if that is not the moment of its end; when it is frozen, later. */
  #hearing(from: SimProcess, name: string, then: (broken?: Error) => void): void {
    from.hearAfter(this.latency(), () => {
      const broken = this.onEvent?.(from, `${name} heard`)
      from.hear(() => then(broken))
    })
  }

  /** A moment on the way, in ms. */
  latency(): number {
    return 0.1 + 2 * this.#chance.float() ** 2
  }

  #delay(): number {
    if (!this.#strikes('slow')) return this.latency()
    this.#tally.fault('answer delayed')
    return this.#chance.float() < 0.8 ? 2_000 * this.#chance.float() : 30_000 * this.#chance.float()
  }

  #strikes(fault: keyof Weather): boolean {
    const likely = this.weather[fault]
    return likely > 0 && this.#chance.float() < likely
  }

  #noteOrder(way: string, order: number): void {
    const highest = this.#arrived.get(way) ?? 0
    if (order < highest) this.#tally.fault('requests overtook each other')
    else this.#arrived.set(way, order)
  }
}

const terminated = (name: string) => new WireError('ECONNRESET', `Connection terminated unexpectedly: ${name}`)

function shown(answer: unknown): string {
  const text = JSON.stringify(answer, (_, value: unknown) => {
    if (value instanceof Map || value instanceof Set) return [...value]
    return value
  })
  return text === undefined ? '' : text.slice(0, 300)
}
