// The two sides of the agreement behind one face: a store, the application's tables, and a clock that the test moves.

import { classify } from '../../../src/drivers/postgres/store/errors.ts'
import { executorOf, transactionOf } from '../../../src/drivers/postgres/store/opaque.ts'
import type { SqlExecutor } from '../../../src/drivers/sql/client.ts'
import type { Job } from '../../../src/job/job.ts'
import type { Store } from '../../../src/store/store.ts'
import { type AppRow, type AppTx, type OwnTable, SimDatabase } from '../store/database.ts'
import { columnsOf, jobOf, queries, slotsJob } from './store-cast.ts'
import { dumpModel, dumpSql } from './store-dump.ts'

/** A store under comparison. */
export interface Subject {
  readonly store: Store<AppTx>
  readonly app: AppTx
  /** The job whose work is slots. */
  readonly slotsJob: Job
  /** True when other calls can be made while a transaction is open. */
  readonly manyConnections: boolean
  /** Resolves when a call is answered, or certainly waits for a lock: true. */
  waits(call: Promise<unknown>): Promise<boolean>
  /** Sets the store's clock, in epoch ms. */
  setNow(ms: number): Promise<void>
  /** Empties everything. */
  reset(): Promise<void>
  /** Empties one of regrow's tables, as a person might. */
  empty(table: OwnTable): Promise<void>
  /** Every row of every table, in an order of its own, with times in epoch ms. */
  dump(): Promise<Record<string, unknown[]>>
}

/** The simulated database. */
export function modelSubject(): Subject {
  let now = 0
  let db = new SimDatabase(() => now, queries)
  let store = db.store()
  return {
    get store() {
      return store
    },
    get app() {
      return db.app
    },
    slotsJob,
    manyConnections: true,
    // Calls execute when they are called.
    waits: async (call) => !(await isAnswered(call)),
    setNow: async (ms) => {
      now = ms
    },
    reset: async () => {
      db = new SimDatabase(() => now, queries)
      store = db.store()
    },
    empty: async (table) => db.empty(table),
    dump: async () => dumpModel(db),
  }
}

/** A real store in a database that has the cast's tables. `own` of its transactions has a `query`. */
export function sqlSubject(
  store: Store<SqlExecutor>,
  query: SqlExecutor['query'],
  { manyConnections }: { manyConnections: boolean },
): Subject {
  let open = 0
  /** A record has met a name that an open transaction holds. */
  let held = false
  const { ledger, intents } = store
  return {
    store: {
      ...store,
      transaction: (fn) =>
        store.transaction(async (tx, own) => {
          open++
          held = false
          try {
            return await fn(
              // Without its COMMIT: here a transaction may go on after a settle, or be rolled back.
              transactionOf({ query: (text, params) => executorOf(tx).query(text, params) }),
              appTx((text, params) => own.query(text, params)),
            )
          } finally {
            open--
          }
        }),
      intents: {
        ...intents,
        // It waits for a few milliseconds, which may pass before the transaction ends. Who enqueues tries again (enqueue/held.ts).
        record: async (job, rows, tx) => {
          for (;;)
            try {
              return await intents.record(job, rows, tx)
            } catch (error) {
              if (tx || classify(error) !== 'lock_timeout') throw error
              held = true
            }
        },
      },
      ledger: {
        ...ledger,
        take: async (holder, claims, options) => {
          // A take writes without a look unless one of the last met a row. Of keys that change while it waits, one that looks
          // tells what was there before, as the model does, and one that does not what is there then: a key that is named
          // twice and meets itself makes it look.
          const twice = { job: 'big', key: 'twice', take: 0 }
          if (open > 0) await ledger.take(holder, [twice, twice]).catch(() => {})
          return ledger.take(holder, claims, options)
        },
      },
    },
    app: appTx(query),
    slotsJob,
    manyConnections,
    waits: async (call) => {
      const waiting = `select exists (select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()) as found`
      for (;;) {
        if (await isAnswered(call)) return false
        if (held || (await query(waiting)).rows[0]?.found) return true
      }
    },
    setNow: async (ms) => {
      await query('update agreement.clock set at = to_timestamp($1::float8 / 1000)', [ms])
    },
    reset: async () => {
      await query(`truncate regrow.ledger, regrow.workers, regrow.sweeps, regrow.intents, regrow.pauses, regrow.audit,
        regrow.marks, regrow.heals, regrow.schedules, regrow.slots, agreement.big, agreement.pair, agreement.text`)
      await query(`truncate regrow.pulse`)
      await query(`insert into regrow.pulse default values`)
    },
    empty: async (table) => void (await query(`truncate regrow.${table}`)),
    dump: () => dumpSql(query),
  }
}

/** Whether a promise is settled once everything that could run has run. */
async function isAnswered(call: Promise<unknown>): Promise<boolean> {
  let answered = false
  const mark = () => {
    answered = true
  }
  call.then(mark, mark)
  await new Promise(setImmediate)
  return answered
}

function appTx(query: SqlExecutor['query']): AppTx {
  const columns = (table: string) => columnsOf[table] ?? []
  const where = (table: string) => columns(table).map(({ name, type }, i) => `${name} = $${i + 1}::text::${type}`)
  const values = (table: string, id: string) => jobOf(table).key.split(id)
  const read = async (table: string, id: string, how: string) => {
    const text = `select "row"::text as found from agreement.${table} where ${where(table).join(' and ')} ${how}`
    const { rows } = await query(text, values(table, id))
    return rows[0] ? (JSON.parse(rows[0].found as string) as AppRow) : undefined
  }
  return {
    get: (table, id) => read(table, id, ''),
    lock: (table, id) => read(table, id, 'for update'),
    put: async (table, id, row) => {
      const names = columns(table).map(({ name }) => name)
      const given = columns(table).map(({ type }, i) => `$${i + 1}::text::${type}`)
      await query(
        `insert into agreement.${table} (${names.join(', ')}, "row") values (${given.join(', ')}, $${names.length + 1}::text::jsonb)
         on conflict (${names.join(', ')}) do update set "row" = excluded."row"`,
        [...values(table, id), JSON.stringify(row)],
      )
    },
    remove: async (table, id) => {
      await query(`delete from agreement.${table} where ${where(table).join(' and ')}`, values(table, id))
    },
  }
}
