// A worker that can be abandoned inside this process. Once its lifeline is cut none of its calls goes out and none of its
// answers comes back: to the database and to the other workers it looks like a process that was killed.
import type { QueueDriver, StoreDriver } from 'regrow'

type Method = (...args: unknown[]) => unknown

export class Lifeline {
  #cut = false
  /** From now on silence. */
  cut: () => void = () => {}
  /** Resolves when the line was cut. */
  readonly ended = new Promise<void>((resolve) => {
    this.cut = () => {
      this.#cut = true
      resolve()
    }
  })

  store(driver: StoreDriver): StoreDriver {
    const open: StoreDriver['open'] = async (around) => {
      const opened = await driver.open(around)
      // What a dead process left open the database rolls back. Here the transaction has to fail, or it would stay open.
      const failed = this.ended.then(() => Promise.reject(new Error('this worker was abandoned')))
      failed.catch(() => {})
      const transaction: typeof opened.store.transaction = (work) =>
        opened.store.transaction((tx, own) => Promise.race([work(tx, own), failed]))
      return { ...opened, store: this.#through({ ...opened.store, transaction }) }
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
        if (typeof value !== 'function') return isObject(value) ? this.#through(value) : value
        return (...args: unknown[]) => this.#call(() => (value as Method).apply(target, args))
      },
    })
  }

  #call(method: () => unknown): unknown {
    if (this.#cut) return silence
    const answer = method()
    if (answer instanceof Promise) return this.#unlessCut(answer)
    return isObject(answer) ? this.#through(answer) : answer
  }

  async #unlessCut(answer: Promise<unknown>): Promise<unknown> {
    const [outcome] = await Promise.allSettled([answer])
    if (this.#cut) return silence
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }
}

const silence = new Promise<never>(() => {})

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
