// The way between a process and its store, on which calls are refused, replies are lost after the commit, and answers come
// late. What the store itself holds is not touched: that is the point.
import type { OpenStore, StoreDriver } from '../../src/drivers/driver.ts'
import type { Store } from '../../src/store/store.ts'

/** A port that is a member of another one, such as `ledger.shared`. */
export const isPart = (member: unknown): member is object =>
  typeof member === 'object' && member !== null && Object.getPrototypeOf(member) === Object.prototype

interface Fault {
  readonly call: string
  readonly meet: (work: () => Promise<unknown>) => Promise<unknown>
}

export class Faults {
  /** Says which calls are refused; a refused `transaction` is rolled back, also when it is open already. */
  refused: (call: string) => boolean = () => false
  readonly #next: Fault[] = []

  /** The next call of that name (`ledger.take`, `transaction`, …) is done, but who called gets an error. */
  loseReply(call: string): void {
    this.meet(call, async (work) => {
      await work()
      throw new Error('Connection terminated unexpectedly')
    })
  }

  /** What becomes of the next call of that name is for `meet` to say. */
  meet(call: string, meet: Fault['meet']): void {
    this.#next.push({ call, meet })
  }

  store(driver: StoreDriver): StoreDriver {
    return {
      ...driver,
      open: async (around): Promise<OpenStore> => {
        const { store, defaultQueue } = await driver.open(around)
        const wrapped: Store = {
          ...store,
          ledger: this.#port('ledger', store.ledger),
          workers: this.#port('workers', store.workers),
          sweeps: this.#port('sweeps', store.sweeps),
          intents: this.#port('intents', store.intents),
          source: (job) => this.#port('source', store.source(job)),
          transaction: (fn) =>
            this.#call('transaction', () =>
              store.transaction(async (tx, own) => {
                const value = await fn(this.#port('tx', tx), this.#port('tx', own))
                this.#reach('transaction')
                return value
              }),
            ),
        }
        return { store: wrapped, defaultQueue }
      },
    }
  }

  #port<T extends object>(name: string, port: T): T {
    return new Proxy(port, {
      get: (target, property) => {
        const value = Reflect.get(target, property)
        if (isPart(value)) return this.#port(`${name}.${String(property)}`, value)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => this.#call(`${name}.${String(property)}`, async () => value.apply(target, args))
      },
    })
  }

  async #call<T>(call: string, work: () => Promise<T>): Promise<T> {
    this.#reach(call)
    const at = this.#next.findIndex((fault) => fault.call === call)
    const [fault] = at < 0 ? [] : this.#next.splice(at, 1)
    return fault ? ((await fault.meet(work)) as T) : work()
  }

  #reach(call: string): void {
    if (this.refused(call)) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }
}
