// The coverage contract of a job: which column tells the state of its rows, and which of its values need no work any more.
// Reads what users give as `covers`; every mistake is found, none is thrown. `doctor` and `expectCoverage` hold it against the
// database.
import { unknownOptions } from '../base/suggest.ts'

/** A value of a state column, as users write it. */
export type StateValue = string | number | boolean | null

/** A column that tells the state of a table's rows: each of its values is terminal, or some job's pending query claims it. */
export interface Covers {
  /** The table: `'databases'`, or with its schema `'app.databases'`. */
  table: string
  /** The column that tells the state. */
  column: string
  /**
   * Values that need no work any more. Jobs that name the same column have one list together: say it once, or the same
   * each time. Defaults to what the other jobs say.
   */
  terminal?: readonly StateValue[]
  /**
   * Values in which a row waits for something else, such as a change of another row, and for what: `{ attaching: 'its database is ready' }`.
   * No pending query needs to return such rows. Defaults to none; jobs that name the same column have one list together.
   */
  waits?: Readonly<Record<string, string>>
  /**
   * The columns of the table that the job's key is, in the order of the key. Defaults to the columns that the pending query
   * returns, then to the primary key; needed only where the key comes from another table.
   */
  key?: string | readonly string[]
}

/** `covers` as it was read: values are texts, as Postgres writes them. */
export interface CoveredState {
  readonly table: string
  readonly column: string
  /** Null: what the other jobs say. */
  readonly terminal: readonly (string | null)[] | null
  /** By value, for what its rows wait. */
  readonly waits: Readonly<Record<string, string>>
  /** Null: to be found out. */
  readonly key: readonly string[] | null
}

/** What a job covers, and what is wrong with it, in sentences. */
export function readCovers(given: unknown, where: string): { covers: CoveredState[]; mistakes: string[] } {
  if (given === undefined) return { covers: [], mistakes: [] }
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
  const read = list.map((each, i) => readOne(each, Array.isArray(given) ? `\`covers[${i}]\`` : '`covers`', where))
  const mistakes = read.flatMap((each) => each.mistakes)
  const covers = read.flatMap((each) => each.covers ?? [])
  const names = covers.map(({ table, column }) => `${table}.${column}`)
  for (const name of new Set(names.filter((each, i) => names.indexOf(each) !== i)))
    mistakes.push(`${where}: \`covers\` names ${name} twice; once is enough`)
  if (list.length === 0) mistakes.push(`${where}: \`covers\` is an empty list; leave it out`)
  return { covers, mistakes }
}

function readOne(given: unknown, name: string, where: string): { covers: CoveredState | null; mistakes: string[] } {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return {
      covers: null,
      mistakes: [
        `${where}: ${name} is ${JSON.stringify(given)}; expected { table: 'databases', column: 'state', terminal: ['ready'] }`,
      ],
    }
  const { table, column, terminal, waits, key } = given as Record<keyof Covers, unknown>
  const mistakes = unknownOptions(given, ['table', 'column', 'terminal', 'waits', 'key'], `${where}, ${name}`)
  const wrong = (sentence: string) => mistakes.push(`${where}: ${name}${sentence}`)
  const isName = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
  if (!isName(table)) wrong(`.table is ${JSON.stringify(table)}; expected the name of a table`)
  if (!isName(column)) wrong(`.column is ${JSON.stringify(column)}; expected the name of a column`)
  const values = terminal === undefined ? null : Array.isArray(terminal) ? terminal : undefined
  const odd = values?.find((value) => !isStateValue(value))
  if (values === undefined)
    wrong(`.terminal is ${JSON.stringify(terminal)}; expected a list of values, such as ['ready', 'failed']`)
  if (odd !== undefined) wrong(`.terminal holds ${typeof odd}; expected texts, numbers, booleans or null`)
  const waiting = readWaits(waits)
  if (waiting === null)
    wrong(
      `.waits is ${JSON.stringify(waits)}; expected a reason by value, such as { attaching: 'its database is ready' }`,
    )
  const both = Object.keys(waiting ?? {}).filter((value) => values?.some((each) => String(each) === value))
  if (both.length > 0) wrong(`: ${both.join(', ')} is in \`terminal\` and in \`waits\`; a row waits, or is done`)
  const columns = key === undefined ? null : typeof key === 'string' ? [key] : key
  const named = columns === null || (Array.isArray(columns) && columns.length > 0 && columns.every(isName))
  if (!named) wrong(`.key is ${JSON.stringify(key)}; expected the name of a column, or a list of them`)
  if (mistakes.length > 0) return { covers: null, mistakes }
  const covers = {
    table: table as string,
    column: column as string,
    terminal: values?.map((value: StateValue) => (value === null ? null : String(value))) ?? null,
    waits: waiting ?? {},
    key: columns as readonly string[] | null,
  }
  return { covers, mistakes }
}

/** Null: it is no list of reasons. */
function readWaits(given: unknown): Readonly<Record<string, string>> | null {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return null
  const isReason = (text: unknown) => typeof text === 'string' && text.trim() !== ''
  return Object.values(given).every(isReason) ? (given as Record<string, string>) : null
}

const isStateValue = (value: unknown) => value === null || ['string', 'number', 'boolean'].includes(typeof value)
