// A pending query over rows that are not in the table: a WITH of the table's name takes its place, and nothing is written.
// With the state column held at one value the planner folds what the query says of it. A plan that cannot return a row is a
// proof; one that can is none.
import type { SqlQuery, SqlValue } from '../../../../job/pending.ts'
import type { StateColumn, TrialRow } from '../../../../store/coverage.ts'
import type { Row } from '../../../sql/client.ts'
import { quoted, shifted, unqualified } from './sql-tokens.ts'

/** Present rows that a value is tried on. */
const rowsTried = 1_000

/** A value as the clients pass it: PGlite wants booleans to be some. */
export const stateParameter = ({ base }: StateColumn, value: string | null): SqlValue =>
  base === 'boolean' && value !== null ? value === 'true' : value

export const tableName = ({ schema, table }: StateColumn): string => `${quoted(schema)}.${quoted(table)}`

/** The query over what `rows` selects (its columns by name, `x`) instead of the table. */
function over(column: StateColumn, query: SqlQuery, rows: string, values: readonly SqlValue[]): SqlQuery {
  const text = shifted(unqualified(query.text, column.schema, column.table), values.length)
  return {
    text: `with ${quoted(column.table)} as not materialized (\n${rows}\n) select 1 as found from (\n${text}\n) q`,
    values: [...values, ...query.values],
  }
}

/** The columns of row `x`, with the state given; without a state, as they are. */
const columnsOf = ({ columns, column, type }: StateColumn, state?: string) =>
  columns
    .map(({ name }) => (name === column && state ? `${state}::${type} as ${quoted(name)}` : `x.${quoted(name)}`))
    .join(', ')

/** No rows: what the query returns then comes from elsewhere. */
export const overNothing = (column: StateColumn, query: SqlQuery): SqlQuery =>
  over(
    column,
    query,
    `select ${column.columns.map(({ name, type }) => `null::${type} as ${quoted(name)}`).join(', ')} where false`,
    [],
  )

/** Any row with that value: a row of which nothing else is known, so that only the value can be folded. */
export const overAny = (column: StateColumn, query: SqlQuery, value: string | null): SqlQuery =>
  over(
    column,
    query,
    `select ${columnsOf(column, '$1')} from jsonb_populate_record(null::${tableName(column)}, '{}') x`,
    [stateParameter(column, value)],
  )

type Column = StateColumn['columns'][number]

/** Values of common types: nothing or long ago, and much or far ahead. */
const extremes: readonly (readonly [RegExp, low: string, high: string])[] = [
  [/^(smallint|integer|bigint|numeric|real|double precision)$/, '0', '30000'],
  [/^boolean$/, 'false', 'true'],
  [/^(date|timestamp with(out)? time zone)$/, `'1970-01-01'`, `'2999-01-01'`],
  [/^(text|character varying)$/, `''`, `'x'`],
  [/^uuid$/, `'${'0'.repeat(32)}'`, `'${'f'.repeat(32)}'`],
  [/^jsonb?$/, `'{}'`, `'{}'`],
]

function extreme({ type, listed }: Column, which: 0 | 1): string {
  if (listed) return `${which === 0 ? 'enum_first' : 'enum_last'}(null::${type})`
  return extremes.find(([types]) => types.test(type))?.[which === 0 ? 1 : 2] ?? 'null'
}

/** Rows as they might be new, with defaults, and null where that is allowed; and with something in every column. */
function madeRows({ columns }: StateColumn): string[] {
  const row = (cell: (column: Column) => string) =>
    columns.map((each) => `(${cell(each)})::${each.type} as ${quoted(each.name)}`).join(', ')
  return ([0, 1] as const).flatMap((which) => [
    row((each) => each.standard ?? (each.required ? extreme(each, which) : 'null')),
    row((each) => extreme(each, which)),
  ])
}

/** Present rows, new rows, and rows that somebody gave, all with that value. */
export function overTrials(
  column: StateColumn,
  query: SqlQuery,
  value: string | null,
  rows: readonly TrialRow[],
): SqlQuery {
  const given = `jsonb_populate_recordset(null::${tableName(column)}, $2::text::jsonb)`
  const trials = [
    `select ${columnsOf(column, '$1')} from (select * from ${tableName(column)} limit ${rowsTried}) x`,
    ...madeRows(column).map((row) => `select ${columnsOf(column, '$1')} from (select ${row}) x`),
    `select ${columnsOf(column, '$1')} from ${given} x`,
  ]
  const tried = over(column, query, trials.join('\nunion all\n'), [stateParameter(column, value), JSON.stringify(rows)])
  return { ...tried, text: `${tried.text} limit 1` }
}

/** One new row, or one that somebody gave, with that value; undefined: there is no such one. */
export function overTrial(
  column: StateColumn,
  query: SqlQuery,
  value: string | null,
  rows: readonly TrialRow[],
  nth: number,
): SqlQuery | undefined {
  const made = madeRows(column)
  const given = rows[nth - made.length]
  const row =
    made[nth] === undefined
      ? given && `select * from jsonb_populate_record(null::${tableName(column)}, $2::text::jsonb)`
      : `select ${made[nth]}`
  if (row === undefined) return undefined
  // Asked for in any case: a parameter that no place names has no type.
  const trial = `select ${columnsOf(column, '$1')} from (${row}) x where $2::text is not null`
  const tried = over(column, query, trial, [stateParameter(column, value), JSON.stringify(given ?? {})])
  return { ...tried, text: `${tried.text} limit 1` }
}

/** A node of a plan, as far as it is read here. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Join Type'?: string
  readonly Strategy?: string
  readonly 'One-Time Filter'?: string
  readonly 'Actual Loops'?: number
  readonly Alias?: string
  readonly Schema?: string
  readonly 'Relation Name'?: string
  readonly Output?: readonly string[]
  readonly 'Parent Relationship'?: string
  readonly Plans?: readonly PlanNode[]
}

/** The plan that an EXPLAIN answered; clients hand it out as JSON, or as its text. */
export function planOf(rows: readonly Row[]): PlanNode {
  const cell = rows[0] && Object.values(rows[0])[0]
  const [{ Plan }] = (typeof cell === 'string' ? JSON.parse(cell) : cell) as [{ Plan: PlanNode }]
  return Plan
}

export const everyNode = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(everyNode)]

/** A condition that is asked once and for all; it changes with the time only where it reads a clock. */
const clocked = /\b(now|clock_timestamp|statement_timestamp|transaction_timestamp|clock)\(|CURRENT_|LOCALTIME/

/** True when the plan cannot return a row. A filter that was asked once (`analyze`) and kept its input from running says so, too. */
export function isEmpty(plan: PlanNode): boolean {
  const filter = plan['One-Time Filter']
  const below = (plan.Plans ?? []).filter(
    (node) => !['SubPlan', 'InitPlan'].includes(node['Parent Relationship'] ?? ''),
  )
  if (filter === 'false' || filter?.startsWith('(false AND ')) return true
  const asked = filter !== undefined && !clocked.test(filter) && (plan['Actual Loops'] ?? 0) > 0
  if (asked && below.length > 0 && below.every((node) => node['Actual Loops'] === 0)) return true
  if (below.length === 0) return false
  const [outer] = below as [PlanNode]
  const join = plan['Join Type']
  if (join === 'Inner' || join === 'Semi') return below.some(isEmpty)
  if (join === 'Left' || join === 'Anti') return isEmpty(outer)
  // An aggregate without groups has a row of nothing.
  return plan.Strategy !== 'Plain' && below.every(isEmpty)
}
