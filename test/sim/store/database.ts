// The store and the application's tables in memory, in the time that it is given: what a simulation runs on instead of
// Postgres. Written from the .sql files; the agreement test holds the two together.

import { classify } from '../../../src/drivers/postgres/store/errors.ts'
import { newestSchema } from '../../../src/drivers/postgres/store/statements-by-schema.ts'
import type { Store } from '../../../src/store/store.ts'
import type { StoreTransaction } from '../../../src/store/transaction.ts'
import { type AppRow, type AppTx, acted, ownStatements, sessionOf, transactionOf } from './app-tx.ts'
import { simAudits } from './audits.ts'
import type { Change } from './engine.ts'
import { simIntents } from './intents.ts'
import { simLedger } from './ledger.ts'
import { simMarks } from './marks.ts'
import { simPauses } from './pauses.ts'
import { simQuarantine } from './quarantine-port.ts'
import { simSchedules } from './schedules.ts'
import { Schema } from './schema.ts'
import { type ModelQuery, simSource } from './source.ts'
import { simStatus } from './status.ts'
import { simSweeps } from './sweeps.ts'
import { type Row, Table } from './table.ts'
import { simTimetable } from './timetable.ts'
import { simWorkers } from './workers.ts'

export type { AppRow, AppTx } from './app-tx.ts'
export type { Change } from './engine.ts'
export type { ModelQuery } from './source.ts'

/** Tables of regrow's that can be emptied without the others. */
export type OwnTable = 'sweeps' | 'pulse' | 'workers' | 'schedules' | 'slots' | 'marks' | 'pauses'

/** A database in memory: regrow's tables, the application's, and the sessions on them. */
export class SimDatabase {
  readonly #schema: Schema
  readonly #queries: ReadonlyMap<string, ModelQuery>
  readonly #tables = new Map<string, Table<AppRow>>()
  /** Statements of the application that commit by themselves. */
  readonly app: AppTx

  /** `now`: the store's clock in epoch ms. `queries`: what the pending query of each job means. */
  constructor(now: () => number, queries: ReadonlyMap<string, ModelQuery>) {
    this.#schema = new Schema(now)
    this.#queries = queries
    this.app = ownStatements(this.#schema, this.#table)
  }

  /** Called for every committed change of a row, also when a restart takes it back. */
  get watch(): (change: Change) => void {
    return this.#schema.engine.watch
  }
  set watch(watch: (change: Change) => void) {
    this.#schema.engine.watch = watch
  }

  /** Calls execute when they are called; they wait for row locks only. */
  store(): Store<AppTx> {
    const schema = this.#schema
    const ledger = simLedger(schema)
    return {
      // Errors of the model look like those of Postgres.
      classify,
      ledger: {
        ...ledger,
        shared: {
          settle: (holder, rows, effects) =>
            this.#transaction(async (tx, own) => {
              for (const { values } of effects) await acted(own, values)
              const held = await ledger.settle(holder, rows, tx)
              if (held.size < rows.length) throw new Error(`lease lost: ${held.size}`)
              return { answers: rows.map(() => ({ rows: [] })), tookMs: rows.length / 10 }
            }),
        },
      },
      workers: simWorkers(schema),
      sweeps: simSweeps(schema),
      marks: simMarks(schema),
      audits: simAudits(schema),
      intents: simIntents(schema),
      status: simStatus(schema),
      quarantine: simQuarantine(schema),
      pauses: simPauses(schema),
      forgetting: { forget: () => unasked('what is forgotten') },
      schedules: simSchedules(schema),
      timetable: simTimetable(schema),
      source: (job) => simSource(schema, ledger, job, this.#queries.get(job.name), this.#table),
      transaction: (fn) => this.#transaction(fn),
      // A script's transaction, which is open in the model already.
      connections: { adopt: (_, tx) => tx as StoreTransaction },
      identity: async () => 'simulated',
      outdated: async () => false,
      prepare: async () => {},
      migrate: async () => ({ from: newestSchema, to: newestSchema }),
      close: async () => {},
    }
  }

  /** A transaction of the application, held open as long as it likes. */
  begin(): AppTx & { commit(): Promise<void> } {
    const { engine } = this.#schema
    const session = engine.begin()
    return Object.assign(transactionOf(this.#schema, session, this.#table), {
      commit: async () => engine.commit(session),
    })
  }

  /** Ends the session of an open transaction: rolled back, its locks released; what is called on it later rejects. */
  kill(tx: unknown): void {
    this.#schema.engine.kill(sessionOf(tx))
  }

  /**
   * A crash of the server: open transactions are killed, and of the commits since the last durable one the last `lose(n)`
   * are taken back, newest first. Returns how many.
   */
  restart(lose: (asyncCommits: number) => number): number {
    return this.#schema.engine.restart(lose)
  }

  /** Somebody empties a table, or restores it as it was when it was empty. */
  empty(name: OwnTable): void {
    const table = this.#schema[name] as unknown as Table<Row>
    void this.#schema.engine.atOnce(`empty ${name}`, (session) => {
      for (const id of [...table.rows.keys()]) session.set(table, id, undefined)
    })
  }

  /** Copies tables as they are; what it returns brings them back, as a restore does. */
  copy(names: readonly OwnTable[]): () => void {
    const copies = names.map((name) => {
      const table = this.#schema[name] as unknown as Table<Row>
      return { table, rows: new Map(table.rows) }
    })
    return () =>
      void this.#schema.engine.atOnce('restart', (session) => {
        for (const { table, rows } of copies)
          for (const id of new Set([...table.rows.keys(), ...rows.keys()])) session.set(table, id, rows.get(id))
      })
  }

  /** The wal writer: all commits so far are durable. */
  flush(): void {
    this.#schema.engine.flush()
  }

  /** What is committed, by job and key with '\u0000' between. */
  get ledger() {
    return readOnly(this.#schema.ledger)
  }
  get workers() {
    return readOnly(this.#schema.workers)
  }
  get sweeps() {
    return readOnly(this.#schema.sweeps)
  }
  get marks() {
    return readOnly(this.#schema.marks)
  }
  get heals() {
    return readOnly(this.#schema.heals)
  }
  get pauses() {
    return readOnly(this.#schema.pauses)
  }
  get intents() {
    return readOnly(this.#schema.intents)
  }
  get audit() {
    return readOnly(this.#schema.audit)
  }
  get schedules() {
    return readOnly(this.#schema.schedules)
  }
  /** What is committed, by schedule and instant with '\u0000' between. */
  get slots() {
    return readOnly(this.#schema.slots)
  }
  get pulse() {
    return readOnly(this.#schema.pulse)
  }

  /** The committed rows of a table of the application. */
  rows(table: string): ReadonlyMap<string, AppRow> {
    return this.#table(table).rows
  }

  readonly #table = (name: string): Table<AppRow> => {
    const known = this.#tables.get(name)
    if (known) return known
    const made = new Table<AppRow>(name)
    this.#tables.set(name, made)
    return made
  }

  async #transaction<T>(fn: (tx: StoreTransaction, own: AppTx) => Promise<T>): Promise<T> {
    const { engine } = this.#schema
    const session = engine.begin()
    const tx = transactionOf(this.#schema, session, this.#table)
    let value: T
    try {
      value = await fn(tx as unknown as StoreTransaction, tx)
    } catch (error) {
      engine.rollback(session)
      throw error
    }
    engine.commit(session)
    return value
  }
}

/** Nobody simulated asks this. */
const unasked = async (what: string): Promise<never> => {
  throw new Error(`a person asks ${what}, and no person is simulated`)
}

const readOnly = <R>(table: { readonly rows: ReadonlyMap<string, R> }) => table.rows
