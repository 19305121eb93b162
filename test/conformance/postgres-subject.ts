// Postgres as the suites want it: a migrated database, and the queue that a store brings along.
import type { StoreDriver } from '../../src/backends/driver.ts'
import { postgres } from '../../src/backends/postgres/index.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Queue } from '../../src/queue/queue.ts'

/** Brings regrow's tables into the database at `url`. */
export async function migrated(url: string): Promise<void> {
  const { store } = await postgres(url).open({ clock: systemClock })
  await store.migrate()
  await store.close()
}

/** The driver's own queue; its connections are closed with it. */
export async function openQueue(driver: StoreDriver, surroundings: { clock: Clock }): Promise<Queue> {
  const { store, defaultQueue } = await driver.open(surroundings)
  const queue = defaultQueue()
  let closing: Promise<void> | undefined
  return new Proxy(queue, {
    get: (target, property) => {
      const value = Reflect.get(target, property)
      if (property === 'close') return () => (closing ??= target.close().then(() => store.close()))
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
