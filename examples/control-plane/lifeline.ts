// A worker that can be abandoned inside this process. Once its lifeline is cut none of its calls goes out and none of its
// answers comes back: to the database and to the other workers it looks like a process that was killed.
import type { QueueDriver, StoreDriver } from 'regrow'

type Method = (...args: unknown[]) => unknown
type Work<T> = (tx: T) => Promise<unknown>

export class Lifeline {
  readonly #death: Promise<never>
  #dead = false
  /** From now on silence. */
  cut: () => void = () => {}

  constructor() {
    this.#death = new Promise((_, reject) => {
      this.cut = () => {
        this.#dead = true
        reject(new Error('this worker was abandoned'))
      }
    })
    this.#death.catch(() => {})
  }

  store(driver: StoreDriver): StoreDriver {
    const open: StoreDriver['open'] = async (around) => {
      const opened = await driver.open(around)
      // What a dead process left open the database rolls back; here somebody has to do it.
      const transaction = (work: Work<never>) =>
        opened.store.transaction((tx) => Promise.race([work(tx as never), this.#death]))
      return { ...opened, store: this.#through({ ...opened.store, transaction } as typeof opened.store) }
    }
    return { ...driver, open }
  }

  queue(driver: QueueDriver): QueueDriver {
    return { ...driver, open: async (around) => this.#through(await driver.open(around)) }
  }

  /** The same port, its calls and those of the ports that it holds or returns passing through this line. */
  #through<T extends object>(port: T): T {
    return new Proxy(port, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value === 'function')
          return (...args: unknown[]) => this.#call(() => (value as Method).apply(target, args))
        return isPort(value) ? this.#through(value) : value
      },
    })
  }

  #call(method: () => unknown): unknown {
    if (this.#dead) return silence
    const answer = method()
    if (answer instanceof Promise) return this.#unlessDead(answer)
    return isPort(answer) ? this.#through(answer) : answer
  }

  async #unlessDead(answer: Promise<unknown>): Promise<unknown> {
    const [outcome] = await Promise.allSettled([answer])
    if (this.#dead) return silence
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }
}

const silence = new Promise<never>(() => {})

const isPort = (value: unknown): value is object => typeof value === 'object' && value !== null
