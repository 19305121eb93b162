// A process that can die or freeze at any port event: from then on none of its calls goes out, and none of its answers
// comes back; a frozen one goes on where it was when it is thawed.

import type { Clock } from '../../src/base/clock.ts'
import type { OpenStore, QueueDriver, StoreDriver } from '../../src/drivers/driver.ts'
import type { Queue } from '../../src/queue/queue.ts'
import type { Store } from '../../src/store/store.ts'
import type { VirtualClock } from './virtual-clock.ts'

const never = new Promise<never>(() => {})

export class Process {
  readonly #clock: VirtualClock
  readonly #dieAt: number
  /** Resolves when it dies or freezes, and when it is thawed. */
  readonly #death: Promise<void>
  readonly #thawed: Promise<void>
  #die: () => void = () => {}
  #thaw: () => void = () => {}
  events = 0
  dead = false
  lastEvent = ''
  #woken = false

  /** Dies at its `dieAt`-th event; Infinity lives for ever. */
  constructor(clock: VirtualClock, dieAt: number) {
    this.#clock = clock
    this.#dieAt = dieAt
    this.#death = new Promise((resolve) => {
      this.#die = resolve
    })
    this.#thawed = new Promise((resolve) => {
      this.#thaw = resolve
    })
  }

  /** One port event; true when the process is dead. */
  event(name: string): boolean {
    if (this.dead) return true
    this.events++
    if (this.events < this.#dieAt || this.#woken) return false
    this.dead = true
    this.lastEvent = name
    this.#die()
    return true
  }

  /** Freezes now, wherever it is. */
  freeze(): void {
    this.dead = true
    this.#die()
  }

  /** A frozen process goes on: its calls go out, its answers come in, its timers fire. */
  thaw(): void {
    this.dead = false
    this.#woken = true
    this.#thaw()
  }

  clock(): Clock {
    const inner = this.#clock
    return {
      now: inner.now,
      wall: inner.wall,
      after: (ms, then) => inner.after(ms, () => (this.dead ? void this.#thawed.then(then) : then())),
      gather: () => inner.gather().then(() => (this.dead ? this.#thawed : undefined)),
      sleep: (ms, signal) => inner.sleep(ms, signal).then(() => (this.dead ? this.#thawed : undefined)),
    }
  }

  async #call<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.event(`${name} sent`)) await this.#thawed
    const answer = Promise.allSettled([work()])
    // What waits for an answer when the process dies waits no longer; time may move on without it.
    await this.#clock.during(this.#woken ? answer : Promise.race([answer, this.#death]))
    if (this.event(`${name} answered`)) await this.#thawed
    const [outcome] = await answer
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }

  /** Every method of a port, with an event before it goes out and one before its answer comes in. */
  port<T extends object>(name: string, port: T): T {
    return new Proxy(port, {
      get: (target, property) => {
        const value = Reflect.get(target, property)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => this.#call(`${name}.${String(property)}`, () => value.apply(target, args))
      },
    })
  }

  store(driver: StoreDriver): StoreDriver {
    return {
      ...driver,
      open: async (around): Promise<OpenStore> => {
        const { store, defaultQueue } = await this.#clock.during(driver.open(around))
        const wrapped: Store = {
          ...store,
          identity: () => this.#clock.during(store.identity()),
          outdated: () => this.#clock.during(store.outdated()),
          prepare: (options) => this.#clock.during(store.prepare(options)),
          ledger: this.port('ledger', store.ledger),
          workers: this.port('workers', store.workers),
          sweeps: this.port('sweeps', store.sweeps),
          intents: this.port('intents', store.intents),
          source: (job) => this.port('source', store.source(job)),
          transaction: (fn) =>
            this.#call('transaction', () =>
              store.transaction((tx, own) => this.#until(() => fn(this.port('tx', tx), this.port('tx', own)))),
            ),
        }
        return { store: wrapped, defaultQueue }
      },
    }
  }

  queue(open: () => Queue): QueueDriver {
    return {
      kind: 'queue',
      name: 'memory',
      open: async () => {
        const queue = open()
        const wrapped = this.port('queue', queue)
        // A pop waits on the clock: time must pass meanwhile.
        const pop: Queue['pop'] = async (request, signal) => {
          if (this.event('queue.pop sent')) await this.#thawed
          const popped = await queue.pop(request, signal)
          if (this.event('queue.pop answered')) await this.#thawed
          return popped
        }
        return new Proxy(wrapped, {
          get: (target, property) => (property === 'pop' ? pop : Reflect.get(target, property)),
        })
      },
    }
  }

  /** A transaction whose process dies or freezes is rolled back: the database ends the session. */
  #until<T>(work: () => Promise<T>): Promise<T> {
    const death = this.#death.then(() =>
      this.#woken ? never : Promise.reject(new Error('Connection terminated: the session was ended')),
    )
    return Promise.race([work(), death])
  }
}
