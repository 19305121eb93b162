// The pending query: which rows imply that the job should run. Reads what users give (the `sql` tag, { text, values },
// a Drizzle or Kysely query, a thunk) into one form: text with $n parameters and their values.
import { RegrowError } from '../base/errors.ts'

/** A value that every SQL client passes alike. */
export type SqlValue = string | number | boolean | null
/** A statement with `$1 …` parameters. */
export interface SqlQuery {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** A statement of the user's, with values as the client takes them. */
export interface BuiltStatement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** What query builders offer; recognised by shape, so no builder is imported. */
export type BuiltQuery =
  | { readonly text: string; readonly values: readonly unknown[] }
  | { toSQL(): { sql: string; params: readonly unknown[] } }
  | { compile(): { readonly sql: string; readonly parameters: readonly unknown[] } }

/** One row of a custom source. `version`: a different one is new work. `runAt`: not before this instant. */
export interface PendingRow<K = unknown> {
  readonly key: K
  readonly version?: string | null
  readonly runAt?: Date | null
}

/** A source of the user's own, for truth that is not one SQL query. */
export interface CustomPending<K = unknown> {
  /** The next rows after `after` in key order, `limit` at most; fewer than `limit` mean the end. */
  page(after: K | null, limit: number): Promise<readonly PendingRow<K>[]>
  /** Which of these keys are pending right now. */
  isPending(keys: readonly K[]): Promise<readonly PendingRow<K>[]>
}

/** What `pending` of a job may be. */
export type Pending<K = unknown> = BuiltQuery | (() => BuiltQuery) | CustomPending<K>

export function isCustomPending(pending: Pending<never> | null | undefined): pending is CustomPending<never> {
  const { page, isPending } = (pending ?? {}) as Partial<CustomPending>
  return typeof page === 'function' && typeof isPending === 'function'
}

/** A function that gives the query's present form; a static query is read once, a thunk each time. */
export function queryReader(pending: BuiltQuery | (() => BuiltQuery)): () => SqlQuery {
  if (typeof pending === 'function') return () => plain(pending(), false)
  const fixed = plain(pending, true)
  return () => fixed
}

function plain(built: BuiltQuery, fixed: boolean): SqlQuery {
  const { text, values } = read(built)
  const trimmed = text.trim().replace(/;\s*$/, '')
  if (!/^(select|with|values|table)\b/i.test(trimmed))
    throw new RegrowError(
      'bad_pending',
      `A pending query reads rows, this one begins with "${trimmed.slice(0, 30)}"`,
      'Write a SELECT that returns the key of each row that should run.',
    )
  return { text: trimmed, values: values.map((value) => parameter(value, fixed)) }
}

function read(built: BuiltQuery): { text: string; values: readonly unknown[] } {
  const found = builtStatement(built)
  if (found) return found
  throw new RegrowError(
    'bad_pending',
    `A pending query cannot be read from ${built === null ? 'null' : typeof built}`,
    'Give sql`select id from …`, { text, values }, a Drizzle or Kysely query, a function that returns one of these, or { page, isPending }.',
  )
}

/** Text and values of what a tag or a query builder made; undefined: it is none of these. */
export function builtStatement(built: unknown): BuiltStatement | undefined {
  if (!built || typeof built !== 'object') return undefined
  if ('text' in built && typeof built.text === 'string')
    return { text: built.text, values: (built as { values?: readonly unknown[] }).values ?? [] }
  if ('toSQL' in built && typeof built.toSQL === 'function') {
    const { sql, params } = built.toSQL()
    return { text: sql, values: params }
  }
  if ('compile' in built && typeof built.compile === 'function') {
    const { sql, parameters } = built.compile()
    return { text: sql, values: parameters }
  }
  return undefined
}

function parameter(value: unknown, fixed: boolean): SqlValue {
  if (value instanceof Date) {
    if (fixed)
      throw new RegrowError(
        'frozen_date',
        `The pending query holds the date ${value.toISOString()}, fixed at the time it was built`,
        'Use now() in the SQL, or give a function that builds the query each time: pending: () => query.',
      )
    return value.toISOString()
  }
  if (typeof value === 'bigint') return value.toString()
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as SqlValue
  throw new RegrowError(
    'bad_parameter',
    `A parameter of the pending query is ${Array.isArray(value) ? 'an array' : `of type ${typeof value}`}`,
    'Parameters are text, numbers, booleans or null. Pass a list as sql.array(values) or sql.in(values).',
  )
}
