// A store as a process reaches it: over the network, with an ear of the oracle on what it asks and hears.

import { RegrowError } from '../../src/base/errors.ts'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import type { Job } from '../../src/job/job.ts'
import type { Store } from '../../src/store/store.ts'
import { isPart } from './faults.ts'
import { type Network, WireError } from './network.ts'
import type { SimProcess } from './sim-process.ts'
import type { AppTx } from './store/database.ts'

/** What is to be known of the calls of a process. Each is called when the thing happens, not when it is told. */
export interface StoreEar {
  /** The process sends a call. */
  sent(process: SimProcess, name: string, args: readonly unknown[]): void
  /** The store is about to execute it. */
  arrives(process: SimProcess, name: string, args: readonly unknown[]): unknown
  /** The process hears the answer; `noted` is what `arrives` returned. */
  heard(process: SimProcess, name: string, args: readonly unknown[], answer: unknown, noted: unknown): void
}

export interface StoreWays {
  readonly network: Network
  readonly ear: StoreEar
  /** Ends the session of a transaction: its process died. */
  readonly kill: (tx: unknown) => void
  /** Statements inside a transaction take no virtual time: the store has one connection, and everybody waits for it. */
  readonly oneConnection: boolean
}

/** A driver whose store is reached by `process` through the network. */
export function wiredStore(process: SimProcess, store: Store<AppTx>, ways: StoreWays): StoreDriver<AppTx> {
  const { network, ear, kill, oneConnection } = ways
  const open = new Set<unknown>()
  const died = process.onDeath
  process.onDeath = () => {
    died()
    for (const tx of open) kill(tx)
  }
  const call = <T>(name: string, args: readonly unknown[], work: () => Promise<T>, ends = false): Promise<T> => {
    let noted: unknown
    ear.sent(process, name, args)
    return network.call({
      from: process,
      to: 'store',
      name,
      ends,
      once: ends,
      words: () => words(args),
      work: () => {
        noted = ear.arrives(process, name, args)
        return work()
      },
      heard: (answer) => ear.heard(process, name, args, answer, noted),
    })
  }
  /** A statement of an open transaction. */
  const inside = <T>(name: string, args: readonly unknown[], work: () => Promise<T>): Promise<T> => {
    if (!oneConnection) return call(name, args, work, true)
    if (process.state === 'dead') return new Promise(() => {})
    const noted = ear.arrives(process, name, args)
    return work().then((answer) => {
      ear.heard(process, name, args, answer, noted)
      return answer
    })
  }
  const port = <T extends object>(name: string, target: T, send = call): T => {
    const methods = new Map<string | symbol, unknown>()
    return new Proxy(target, {
      get: (_, property) => {
        const known = methods.get(property)
        if (known) return known
        const value: unknown = Reflect.get(target, property, target)
        if (isPart(value)) {
          const part = port(`${name}.${String(property)}`, value, send)
          methods.set(property, part)
          return part
        }
        if (typeof value !== 'function' || typeof property === 'symbol') return value
        const method = (...args: unknown[]) => {
          const within = args.some((arg) => isOpen(arg) || isOpen((arg as { tx?: unknown } | null | undefined)?.tx))
          return (within ? inside : send)(`${name}.${property}`, args, async () => value.apply(target, args))
        }
        methods.set(property, method)
        return method
      },
    })
  }
  const isOpen = (arg: unknown) => typeof arg === 'object' && arg !== null && wrapped.has(arg)
  /** The transactions as this process knows them. */
  const wrapped = new WeakSet<object>()
  const transaction = async <T>(fn: (tx: never, own: AppTx) => Promise<T>): Promise<T> => {
    try {
      await call('begin', [], async () => {}, true)
      let value: T | undefined
      await store.transaction(async (tx, own) => {
        open.add(tx)
        const lent = port('tx', own as AppTx & object, inside)
        wrapped.add(lent)
        try {
          value = await fn(lent as never, lent)
          await inside('commit', [], async () => {})
        } finally {
          open.delete(tx)
        }
      })
      if (process.state === 'dead') return await new Promise<never>(() => {})
      await call('committed', [], async () => {}, true)
      return value as T
    } catch (error) {
      if (process.state === 'dead') return new Promise<never>(() => {})
      throw isAway(error) ? away(error) : error
    }
  }
  const wired: Store<AppTx> = {
    ...store,
    ledger: port('ledger', store.ledger),
    workers: port('workers', store.workers),
    sweeps: port('sweeps', store.sweeps),
    marks: port('marks', store.marks),
    audits: port('audits', store.audits),
    intents: port('intents', store.intents),
    status: port('status', store.status),
    quarantine: port('quarantine', store.quarantine),
    pauses: port('pauses', store.pauses),
    schedules: port('schedules', store.schedules),
    timetable: port('timetable', store.timetable),
    source: (job: Job) => port(`source(${job.name})`, store.source(job)),
    transaction,
    identity: () => call('identity', [], () => store.identity()),
    outdated: () => call('outdated', [], () => store.outdated()),
    prepare: (options) => call('prepare', [], () => store.prepare(options)),
    migrate: () => store.migrate(),
    close: async () => {},
  }
  return {
    kind: 'store',
    name: 'simulated',
    open: async () => ({
      store: wired,
      defaultQueue: () => {
        throw new Error('a simulated process is given its queue')
      },
    }),
  }
}

const isAway = (error: unknown) => error instanceof WireError || (error as { code?: unknown } | null)?.code === '57P01'

/** As the Postgres backend tells it: the connection broke, and that is nobody's failure. */
const away = (cause: unknown) =>
  new RegrowError(
    'store_away',
    `The store went away during a transaction: ${(cause as Error).message}`,
    'Try again.',
    cause,
  )

const words = (args: readonly unknown[]) =>
  args
    .filter((arg) => arg !== undefined)
    .map((arg) => {
      try {
        return (JSON.stringify(arg) ?? '').slice(0, 240)
      } catch {
        return '…'
      }
    })
    .join(' ')
