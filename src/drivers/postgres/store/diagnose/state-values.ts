// Which values a state column can have: of its type, of its CHECK constraints, or those that rows have. A constraint is
// believed only when Postgres refuses strangers by it: reading its text alone would be a guess.
import type { StateColumn, StateValues } from '../../../../store/coverage.ts'
import type { SqlDatabase } from '../../../sql/client.ts'
import { sqlState } from '../errors.ts'
import { quoted } from './sql-tokens.ts'

/** More values than this are no states. */
const valuesMax = 100
/** Rows that are read where the whole table takes too long. */
const rowsRead = 100_000

/** The values of a column; every statement ends after `timeoutMs`. */
export async function stateValues(db: SqlDatabase, column: StateColumn, timeoutMs: number): Promise<StateValues> {
  if (column.labels) return { from: 'enum', values: column.labels, bounded: null }
  if (column.base === 'boolean') return { from: 'boolean', values: ['true', 'false'], bounded: null }
  const listed = await checkedValues(db, column, timeoutMs)
  return listed ? { from: 'check', values: listed, bounded: null } : presentValues(db, column, timeoutMs)
}

/** Values that the constraints allow, when they allow no others; null: they do not list them. */
async function checkedValues(db: SqlDatabase, column: StateColumn, timeoutMs: number): Promise<string[] | null> {
  const { checks, base } = column
  const words = checks.flatMap(({ condition }) => literals(condition, base))
  const known = base === 'text' || base === 'character varying' ? texts(words) : whole(words, base)
  if (!known) return null
  const conditions = checks.map(({ name, condition }, i) => {
    return `(select (${condition}) is not false from (select x.word::${base} as ${quoted(name)}) c${i})`
  })
  const { rows } = await db.queryWithin(
    timeoutMs,
    `select x.word from json_array_elements_text($1::text::json) as x(word) where ${conditions.join(' and ')}`,
    [JSON.stringify([...known.values, ...known.strangers])],
  )
  const allowed = new Set(rows.map(({ word }) => word as string))
  const values = known.values.filter((value) => allowed.has(value))
  return values.length > 0 && !known.strangers.some((value) => allowed.has(value)) ? values : null
}

/** What a condition compares with, as texts. */
function literals(condition: string, base: string): string[] {
  const pattern = /^(smallint|integer|bigint)$/.test(base) ? /'?(-?\d+)'?/g : /'((?:[^']|'')*)'/g
  return [...condition.matchAll(pattern)].map(([, text]) => (text as string).replaceAll("''", "'"))
}

interface Candidates {
  readonly values: string[]
  /** Values that no list would hold: one that is let in shows that there is no list. */
  readonly strangers: string[]
}

function texts(words: readonly string[]): Candidates | null {
  const values = [...new Set(words)]
  if (values.length === 0 || values.length > valuesMax) return null
  const near = values.flatMap((word) => [`${word}x`, word.toUpperCase(), word.toLowerCase(), word.slice(1)])
  const strangers = [...near, '', 'x', '7', 'Zz', 'no such state', 'no_such_state', 'nosuchstate']
  return { values, strangers: strangers.filter((word) => !values.includes(word)) }
}

function whole(words: readonly string[], base: string): Candidates | null {
  const numbers = words.map(Number)
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)]
  const most = base === 'smallint' ? 32_767 : 2_147_483_647
  if (numbers.length === 0 || high - low > valuesMax || Math.max(-low, high) > most - 2_000) return null
  const range = Array.from({ length: high - low + 1 }, (_, i) => String(low + i))
  return { values: range, strangers: [low - 1, high + 1, low - 1_000, high + 1_000].map(String) }
}

/** The values that rows have. With an index it is stepped from value to value; without, all rows are read. */
async function presentValues(db: SqlDatabase, column: StateColumn, timeoutMs: number): Promise<StateValues> {
  const table = `${quoted(column.schema)}.${quoted(column.table)}`
  const name = quoted(column.column)
  const grouped = (rows: string) => `select t.s::text as value from ${rows} t group by t.s limit ${valuesMax + 1}`
  const stepped = `
with recursive step as (
  (select t.${name} as s from ${table} t where t.${name} is not null order by 1 limit 1)
  union all
  select (select t.${name} from ${table} t where t.${name} > step.s order by 1 limit 1) from step where step.s is not null
)
select s::text as value from step where s is not null limit ${valuesMax + 1}`
  const read = async (text: string) =>
    (await db.queryWithin(timeoutMs, text)).rows.map(({ value }) => value as string | null)
  const all = `(select ${name} as s from ${table})`
  const some = `(select ${name} as s from ${table} limit ${rowsRead})`
  try {
    return limited(await read(column.indexed ? stepped : grouped(all)), null)
  } catch (error) {
    // 57014: it took too long.
    if (sqlState(error) !== '57014') throw error
    return limited(await read(grouped(some)), `only the first ${rowsRead.toLocaleString('en')} rows were read`)
  }
}

function limited(values: readonly (string | null)[], bounded: string | null): StateValues {
  const many = values.length > valuesMax ? `it has more than ${valuesMax} values` : bounded
  const texts = values.filter((value) => value !== null).sort()
  return {
    from: 'rows',
    values: [...texts.slice(0, valuesMax), ...(values.includes(null) ? [null] : [])],
    bounded: many,
  }
}
