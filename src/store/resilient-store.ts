// The wrapper around every store: deadlines, another try after a deadlock, and a bad key bisected out of its batch.
// Stages and statements know nothing of these.
import type { Clock } from '../base/clock.ts'
import { withDeadline } from '../base/deadline.ts'
import type { Random } from '../base/random.ts'
import { type RetryChoice, retry } from '../base/retry.ts'
import { checkApart } from './check-apart.ts'
import { isBadRow } from './errors.ts'
import { pageApart } from './page-apart.ts'
import type { Repair } from './repair.ts'
import type { Source } from './source.ts'
import type { Store } from './store.ts'
import type { StoreTransaction } from './transaction.ts'

/** Longer than any statement of ours may take, shorter than anybody's patience. */
const deadlineMs = 25_000
/** Ten statements at most, each with a time limit of seconds in the server. */
const costDeadlineMs = 120_000
/** A page and a check hold the user's query: they have a time limit in the server, too. */
const triesAfterDeadlock = 3
/** A minute, or two when each try waits for a table. */
const triesToMigrate = 20

type Limits = Readonly<Record<string, number>>

/** `refused`: the store refused a statement for what a row holds. It may be one of regrow's own that regrow did not write. */
export function guardedStore<Tx>(
  store: Store<Tx>,
  clock: Clock,
  random: Random,
  refused: () => void = () => {},
): Store<Tx> {
  const { classify } = store
  const afterDeadlock: RetryChoice = {
    delayMs: 10,
    again: (error, tries) => classify(error) === 'conflict' && tries < triesAfterDeadlock,
  }
  /** Of a statement that reads only regrow's own rows. */
  const ofOwnRows: RetryChoice = {
    ...afterDeadlock,
    again: (error, tries) => {
      const kind = classify(error)
      // An instant without end that becomes a number is one that the server cannot convert.
      if (isBadRow(kind) || kind === 'unsupported') refused()
      return afterDeadlock.again(error, tries)
    },
  }
  const isInTheWay = (error: unknown) => ['conflict', 'lock_timeout'].includes(classify(error))
  const ended = <T>(what: string, work: () => Promise<T>, limitMs = deadlineMs): Promise<T> =>
    withDeadline(clock, limitMs, what, work())
  const call = <T>(what: string, work: () => Promise<T>, limitMs?: number, choice = ofOwnRows): Promise<T> =>
    retry(clock, random, choice, () => ended(what, work, limitMs))
  // Workers go on while tables are altered: a migration that deadlocks with them, or waits too long for a table, gives way
  // and tries again. It alone has no deadline: an index may take as long as it takes. Whether there is something to migrate
  // is asked before, so that a store that hangs keeps nobody from starting for ever (S16).
  const givingWay = <T>(work: () => Promise<T>): Promise<T> =>
    retry(clock, random, { delayMs: 200, again: (error, tries) => isInTheWay(error) && tries < triesToMigrate }, work)
  /** Transactions that this store opened or adopted. */
  const open = new WeakSet<object>()
  const opened = (tx: StoreTransaction): StoreTransaction => {
    open.add(tx)
    return tx
  }
  /** True for a transaction, also as the option `tx`: the call belongs to it. Other arguments are data. */
  const isWithin = (argument: unknown): boolean =>
    typeof argument === 'object' &&
    argument !== null &&
    (open.has(argument) || isWithin((argument as { readonly tx?: unknown }).tx))
  /** A port that is a member of another one gets the same treatment. */
  const port = <T extends object>(name: string, methods: T, limitsMs: Limits = {}, choice?: RetryChoice): T => {
    const parts = new Map<string | symbol, object>()
    return new Proxy(methods, {
      get: (target, property) => {
        const member: unknown = Reflect.get(target, property)
        if (typeof member === 'object' && member !== null) {
          const part = parts.get(property) ?? port(`${name}.${String(property)}`, member, {}, choice)
          parts.set(property, part)
          return part
        }
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          // A statement of a transaction that has failed fails again: whoever began the transaction begins it again, as a whole.
          const once = args.some(isWithin)
          const work = () => member.apply(target, args)
          const [what, limitMs] = [`${name}.${String(property)}`, limitsMs[String(property)]]
          return once ? ended(what, work, limitMs) : call(what, work, limitMs, choice)
        }
      },
    })
  }
  const guardedLedger = port('ledger', store.ledger)
  return {
    ...store,
    ledger: guardedLedger,
    workers: port('workers', store.workers),
    sweeps: port('sweeps', store.sweeps),
    marks: port('marks', store.marks),
    audits: port('audits', store.audits),
    intents: port('intents', store.intents),
    status: port('status', store.status),
    quarantine: port('quarantine', store.quarantine),
    pauses: port('pauses', store.pauses),
    forgetting: port('forgetting', store.forgetting),
    diagnosis: store.diagnosis && port('diagnosis', store.diagnosis, { cost: costDeadlineMs }),
    coverage: store.coverage && port('coverage', store.coverage),
    schedules: port('schedules', store.schedules),
    timetable: port('timetable', store.timetable),
    transaction: (fn, options) => store.transaction((tx, own) => fn(opened(tx), own), options),
    connections: { ...store.connections, adopt: (of, tx) => opened(store.connections.adopt(of, tx)) },
    repair: store.repair && ((options) => call('store.repair', () => (store.repair as Repair)(options))),
    identity: () => call('store.identity', () => store.identity()),
    outdated: () => call('store.outdated', () => store.outdated()),
    prepare: ({ migrate }) =>
      givingWay(async () => {
        if (migrate && (await call('store.outdated', () => store.outdated()))) await store.migrate()
        await call('store.prepare', () => store.prepare({ migrate: false }))
      }),
    migrate: () => givingWay(() => store.migrate()),
    source: (job) => {
      const [name, source] = [`source of "${job.name}"`, store.source(job)]
      // A row of the user's that their own query fails for is no damage of regrow's.
      const guarded = port(name, source, {}, source.finishes === null ? afterDeadlock : undefined)
      const check = checkApart(name, (keys) => guarded.check(keys), classify)
      const apart = pageApart({ job: job.name, clock, classify, ledger: guardedLedger }, guarded)
      const own: Partial<Source> = { check, page: apart }
      const wrapped = new Proxy(guarded, {
        get: (target, property) => Reflect.get(own, property) ?? Reflect.get(target, property),
      })
      originals.set(wrapped, source)
      return wrapped
    },
  }
}

const originals = new WeakMap<Source, Source>()

/** The store's own source behind a wrapped one. */
export const originalSource = (source: Source): Source => originals.get(source) ?? source
