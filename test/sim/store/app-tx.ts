// Transactions as the application holds them. The session is found through a symbol, so that whoever stands between may
// wrap the object as often as they like.
import type { Schema } from './schema.ts'
import type { Session, Statement } from './session.ts'
import type { Row, Table } from './table.ts'

/** Rows of the application: flat records; `id` is the canonical key text of the job. */
export type AppRow = Readonly<Record<string, string | number | boolean | null>>

/** What `ctx.tx` and `app.transaction` hand out in a simulation, and what a script writes through. */
export interface AppTx {
  get(table: string, id: string): Promise<AppRow | undefined>
  /** Reads a row as it is now and locks it until the end. */
  lock(table: string, id: string): Promise<AppRow | undefined>
  /** Inserts or replaces; locks the row until the end. */
  put(table: string, id: string, row: AppRow): Promise<void>
  remove(table: string, id: string): Promise<void>
}

/** A transaction as `enqueue(…, { tx })` and a statement of `ctx.tx` want it; the model understands no SQL. */
interface SessionTx extends AppTx {
  query(text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }>
}

/** Executes a statement: its only value is what it does, called where the rows are. */
export async function acted(tx: AppTx, [act]: readonly unknown[] = []): Promise<{ rows: Row[] }> {
  if (typeof act !== 'function')
    throw new TypeError('The simulated database understands no SQL: use get, put and remove')
  await (act as (tx: AppTx) => Promise<void>)(tx)
  return { rows: [] }
}

const session = Symbol('session')

/** The session of a transaction that the model opened. */
export function sessionOf(tx: unknown): Session {
  const found = (tx as { [session]?: Session } | null)?.[session]
  if (!found) throw new TypeError('Expected a transaction of the simulated database')
  return found
}

/** How statements of the application run: in a transaction, or each by itself. */
type Run = <T>(name: string, work: (session: Session) => Statement<T>) => Promise<T>

function statements(tables: (name: string) => Table<AppRow>, run: Run): AppTx {
  return {
    get: (table, id) =>
      // biome-ignore lint/correctness/useYield: a read waits for nobody.
      run('app.get', function* (session) {
        return session.get(tables(table), id)
      }),
    lock: (table, id) =>
      run('app.lock', function* (session) {
        return yield* session.hold(tables(table), id, () => true)
      }),
    put: (table, id, row) =>
      run('app.put', function* (session) {
        yield* session.lock(tables(table), id)
        session.set(tables(table), id, row)
      }),
    remove: (table, id) =>
      run('app.remove', function* (session) {
        if (yield* session.hold(tables(table), id, () => true)) session.set(tables(table), id, undefined)
      }),
  }
}

/** Statements that commit by themselves. */
export function ownStatements({ engine }: Schema, tables: (name: string) => Table<AppRow>): AppTx {
  return statements(tables, (name, work) => engine.autocommit(name, work))
}

/** Statements of one transaction. */
export function transactionOf({ engine }: Schema, of: Session, tables: (name: string) => Table<AppRow>): SessionTx {
  const within = statements(tables, (_, work) => engine.within(of, work))
  return Object.assign(within, {
    [session]: of,
    query: (_: string, values?: readonly unknown[]) => acted(within, values),
  })
}
