// The `sql` tag: one statement whose `${values}` are parameters, never text. Lists are written with `sql.array` and `sql.in`.
import { RegrowError } from '../base/errors.ts'
import { kindOfValue } from '../base/suggest.ts'

/** An element of `sql.array` or `sql.in`. */
type SqlListValue = bigint | number | string | boolean | null

/** A list inside the `sql` tag, made by `sql.array` or `sql.in`. */
class SqlList {
  /** The values that it passes as parameters. */
  readonly values: readonly SqlListValue[]
  /** Its text, whose first parameter is `$first`. */
  readonly text: (first: number) => string

  constructor(values: readonly SqlListValue[], text: (first: number) => string) {
    this.values = values
    this.text = text
  }
}

/** Postgres counts the parameters of a statement in 16 bits. */
const parametersMax = 65_535

function tag(strings: TemplateStringsArray, ...given: readonly unknown[]): { text: string; values: unknown[] } {
  const values: unknown[] = []
  let text = strings[0] as string
  for (let i = 0; i < given.length; i++) {
    const value = given[i]
    if (value instanceof SqlList) {
      text += value.text(values.length + 1)
      for (const each of value.values) values.push(each)
    } else text += `$${values.push(value)}`
    text += strings[i + 1]
  }
  if (values.length > parametersMax)
    throw new RegrowError(
      'bad_parameter',
      `The statement has ${values.length} parameters; ${parametersMax} are the most`,
      'Pass a long list with sql.array: it is one parameter.',
    )
  return { text, values }
}

/**
 * A list as one parameter: sql`… where id = any(${sql.array(ids)})`. Nothing equals any element of an empty one. The database finds out
 * the type of the elements from the other side of the comparison. Where there is none, name it: sql`select unnest(${sql.array(ids, 'bigint')})`.
 */
function array(values: Iterable<SqlListValue>, type?: string): SqlList {
  if (type !== undefined && !typeName.test(type))
    throw new RegrowError(
      'bad_parameter',
      `The type ${JSON.stringify(type)} of sql.array is not the name of a type`,
      "Name the type of one element: sql.array(ids, 'bigint').",
    )
  const list = listOf('sql.array', values)
  const literal = `{${list.map(element).join(',')}}`
  return new SqlList([literal], (first) => (type === undefined ? `$${first}` : `$${first}::${type}[]`))
}

/**
 * A list with a parameter for each value, in parentheses: sql`… where id in ${sql.in(ids)}`. An empty one is `(null)`: `in` and `not in`
 * both match nothing then. For long lists, and to exclude a list that may be empty, use `sql.array`: id <> all(${sql.array(ids)}).
 */
function inList(values: Iterable<SqlListValue>): SqlList {
  const list = listOf('sql.in', values)
  if (list.length === 0) return new SqlList([], () => '(null)')
  return new SqlList(list, (first) => `(${list.map((_, i) => `$${first + i}`).join(', ')})`)
}

/** Builds a statement whose `${values}` are parameters, never text. */
export const sql: typeof tag & { readonly array: typeof array; readonly in: typeof inList } = Object.assign(tag, {
  array,
  in: inList,
})

/** Such as bigint, double precision, numeric(10, 2), public.state. */
const typeName = /^[a-z_][\w.]*( [a-z]+)*(\(\d+(, ?\d+)?\))?$/i

/** Backslashes and quotes are escaped; elements in quotes are read as any type. */
const element = (value: SqlListValue): string =>
  typeof value === 'string' ? `"${value.replace(/[\\"]/g, '\\$&')}"` : value === null ? 'null' : `${value}`

const kinds: Readonly<Record<string, string>> = {
  bigint: 'numbers',
  number: 'numbers',
  string: 'texts',
  boolean: 'booleans',
}

/** The values as an array; throws if they are not of one kind. */
function listOf(call: string, values: unknown): SqlListValue[] {
  if (typeof values === 'string' || typeof (values as Iterable<unknown> | null)?.[Symbol.iterator] !== 'function')
    throw badList(`${call} was given ${kindOfValue(values)}`, 'Pass an array or another iterable of values.')
  const list = [...(values as Iterable<unknown>)]
  let first: string | undefined
  for (const value of list) {
    if (value === null) continue
    const kind = kinds[typeof value]
    if (kind === undefined)
      throw badList(
        `${call} was given a list that holds ${kindOfValue(value)}`,
        'Elements are numbers, bigints, texts, booleans or null. Pass a date as date.toISOString().',
      )
    first ??= kind
    if (kind !== first) throw badList(`${call} was given ${first} and ${kind} in one list`, 'Pass values of one kind.')
  }
  return list as SqlListValue[]
}

const badList = (message: string, hint: string) => new RegrowError('bad_parameter', message, hint)
