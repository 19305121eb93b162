// Why the pending query does not return a key. Postgres itself says which conditions its plan filters by, for a plan that
// may use no index: a partial index would hide its own condition. Each condition is then evaluated for the one row. Texts
// of identifiers and conditions are Postgres' own; the key is a parameter.
import type { Job } from '../../../../job/job.ts'
import type { SqlQuery, SqlValue } from '../../../../job/pending.ts'
import type { Unmet, UnmetCondition } from '../../../../store/diagnosis.ts'
import type { Row, SqlDatabase, SqlExecutor } from '../../../sql/client.ts'
import { sqlState } from '../errors.ts'
import type { QueryShape } from '../source/query-shape.ts'
import { type FixedPlan, fixedConditions } from './fixed-conditions.ts'
import { columnsIn, conditionsOf, needsThePlan, shown } from './plan-conditions.ts'

/** How a column is compared with a key that comes as text. */
export type KeyTypes = Readonly<Record<string, string>>

/** The key that is asked for, a text per column, and the type of each. */
interface KeyParts {
  readonly parts: readonly string[]
  readonly types: readonly string[]
}

/** What the answer may take: a person waits for it. */
const timeoutMs = 10_000
/** Nodes that change neither which rows there are nor their columns. */
const transparent = ['Sort', 'Incremental Sort', 'Unique', 'Materialize']
const valueMax = 80

/** The conditions that the row of `key` fails; a query that is not simple enough is told as that. */
export async function unmetConditions(
  db: SqlDatabase,
  job: Job,
  query: SqlQuery,
  shape: QueryShape,
  key: string,
  types: KeyTypes,
): Promise<Unmet> {
  try {
    const { scan, asksOnce } = await db.transaction((tx) => filteredScan(tx, query, shape))
    const at: KeyParts = { parts: job.key.split(key), types: job.key.columns.map(({ type }) => types[type] ?? 'text') }
    const failing = asksOnce ? await db.transaction((tx) => failingForAll(tx, query, shape, at)) : []
    if (typeof failing === 'string') return untold(failing)
    if (typeof scan !== 'string') return await db.transaction((tx) => evaluated(tx, scan, failing, at))
    return failing.length === 0 ? untold(scan) : { kind: 'conditions', table: null, conditions: failing }
  } catch (error) {
    if (sqlState(error) === '57014') return untold(`asking for one of them takes longer than ${timeoutMs / 1_000} s`)
    // A condition that fails by itself for this row, or one that Postgres does not read as it wrote it.
    if (/^(22|42)/.test(sqlState(error) ?? '')) return untold('a condition cannot be evaluated by itself')
    throw error
  }
}

const untold = (why: string): Unmet => ({ kind: 'untold', why })

/** The one table that the query reads, and its conditions. */
interface Scan {
  readonly table: string
  /** With its schema, quoted. */
  readonly from: string
  readonly alias: string
  readonly conditions: readonly string[]
  /** The key's columns, as Postgres writes them. */
  readonly keys: readonly string[]
}

/** A look changes nothing, whatever functions the query calls; and it has an end. */
const harmless = { transaction_read_only: 'on', statement_timeout: String(timeoutMs) }
/** No index, so that the filter is whole; and one process. */
const settings = {
  ...harmless,
  enable_indexscan: 'off',
  enable_indexonlyscan: 'off',
  enable_bitmapscan: 'off',
  max_parallel_workers_per_gather: '0',
}

/** `scan`: or why there is none. `asksOnce`: the query has conditions that do not look at the row. */
async function filteredScan(
  tx: SqlExecutor,
  query: SqlQuery,
  shape: QueryShape,
): Promise<{ readonly scan: Scan | string; readonly asksOnce: boolean }> {
  await tx.query(setting(settings))
  const keys = shape.keys.map((column) => `q.${column}`).join(', ')
  const { rows } = await tx.query(
    `explain (verbose, format json) select ${keys} from (\n${query.text}\n) q`,
    query.values,
  )
  const top = planOf(rows[0])
  const node = top && belowTransparent(top)
  if (!top || !node) return { scan: 'Postgres told no plan', asksOnce: false }
  const once = node['One-Time Filter']
  const asksOnce = once !== undefined && !/^(?:false|\(false AND .*)$/.test(once)
  if (once !== undefined && !asksOnce)
    return { scan: 'its conditions contradict each other, or the table’s constraints', asksOnce }
  const input = asksOnce ? (node.Plans ?? []).find((plan) => plan['Parent Relationship'] === 'Outer') : node
  const scan = input ? await scanOf(tx, top, belowTransparent(input), shape) : 'it reads no table'
  return { scan, asksOnce }
}

function belowTransparent(plan: FixedPlan): FixedPlan {
  let node = plan
  while (transparent.includes(node['Node Type']) && node.Filter === undefined && node.Plans?.[0]) node = node.Plans[0]
  return node
}

async function scanOf(tx: SqlExecutor, top: FixedPlan, node: FixedPlan, shape: QueryShape): Promise<Scan | string> {
  const { Schema: schema, 'Relation Name': table, Alias: alias, Output: output } = node
  if (node['Node Type'] !== 'Seq Scan' || !schema || !table || !alias)
    return `it is more than one table with conditions (${node['Node Type']})`
  const partition = await tx.query(
    `select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1::text and c.relname = $2::text and c.relispartition`,
    [schema, table],
  )
  if (partition.rows.length > 0) return 'it reads a partitioned table'
  // Of the top: a node below may put out more columns.
  const outputs = (top.Output ?? output ?? []).slice(0, shape.keys.length)
  return {
    table,
    from: `${quoted(schema)}.${quoted(table)}`,
    alias,
    conditions: node.Filter === undefined ? [] : conditionsOf(node.Filter),
    keys: outputs,
  }
}

/**
 * Conditions that hold for all rows or for none, and do not hold now: the query is run for this key alone. A text: which of them it is
 * cannot be told.
 */
async function failingForAll(
  tx: SqlExecutor,
  query: SqlQuery,
  shape: QueryShape,
  { parts, types }: KeyParts,
): Promise<UnmetCondition[] | string> {
  await tx.query(setting(harmless))
  const count = query.values.length
  const match = shape.keys.map((column, i) => `q.${column} = $${count + i + 1}::text::${types[i]}`)
  const text = `select ${shape.keys.map((column) => `q.${column}`).join(', ')} from (\n${query.text}\n) q where ${match.join(' and ')}`
  const { rows } = await tx.query(`explain (analyze, timing off, verbose, format json) ${text}`, [
    ...query.values,
    ...parts,
  ])
  const top = planOf(rows[0])
  const node = top && belowTransparent(top)
  if (node?.['One-Time Filter'] === undefined) return []
  const { conditions, failed } = fixedConditions(node)
  if (!failed) return []
  const asked = conditions.filter(({ holds }) => holds === 'ask')
  const cells = asked.map(({ condition }, i) => `(${condition}) is true as c${i}`)
  const [answers] = cells.length === 0 ? [{}] : (await tx.query(`select ${cells.join(', ')}`)).rows
  const failing = conditions.filter((each) =>
    each.holds === 'ask' ? answers?.[`c${asked.indexOf(each)}`] !== true : each.holds === false,
  )
  const unknown = conditions.filter(({ holds }) => holds === 'unknown')
  const found = failing.length === 0 && unknown.length === 1 ? unknown : failing
  if (found.length === 0) return `one of these fails, for every row: ${unknown.map((each) => each.text).join('; ')}`
  return found.map((each) => ({ condition: each.text, found: {}, everyRow: true }))
}

async function evaluated(
  tx: SqlExecutor,
  scan: Scan,
  failing: readonly UnmetCondition[],
  { parts, types }: KeyParts,
): Promise<Unmet> {
  const { table, from, alias, conditions, keys } = scan
  const plain = conditions.filter((condition) => !needsThePlan(condition))
  const columns = [...new Set(plain.flatMap((condition) => columnsIn(condition, alias)))]
  const cells = [
    ...plain.map((condition, i) => `(${condition}) is true as c${i}`),
    ...columns.map((column, i) => `left(${quoted(alias)}.${column}::text, ${valueMax}) as v${i}`),
  ]
  const match = keys.map((column, i) => `${column} = $${i + 1}::text::${types[i] ?? 'text'}`)
  await tx.query(setting(harmless))
  const text = `select ${['true as there', ...cells].join(', ')} from ${from} as ${quoted(alias)} where ${match.join(' and ')} limit 1`
  const { rows } = await tx.query(text, parts as SqlValue[])
  const row = rows[0]
  if (!row) return { kind: 'no_row', table }
  const value = new Map(columns.map((column, i) => [column, row[`v${i}`] as string | null]))
  const own = plain.filter((_, i) => row[`c${i}`] !== true)
  const hidden = conditions.length - plain.length
  if (own.length + failing.length === 0 && hidden > 0) return untold('the condition that it fails holds a subquery')
  return {
    kind: 'conditions',
    table,
    conditions: [
      ...own.map((condition) => ({
        condition: shown(condition, alias),
        found: Object.fromEntries(
          columnsIn(condition, alias).map((column) => [unquoted(column), value.get(column) ?? null]),
        ),
      })),
      ...failing,
    ],
  }
}

/** For this transaction only. */
const setting = (values: Readonly<Record<string, string>>) =>
  `select ${Object.entries(values)
    .map(([name, value]) => `set_config('${name}', '${value}', true)::text`)
    .join(', ')}`

function planOf(row: Row | undefined): FixedPlan | undefined {
  const answer = row?.['QUERY PLAN']
  return ((typeof answer === 'string' ? JSON.parse(answer) : answer) as [{ Plan: FixedPlan }] | undefined)?.[0]?.Plan
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
const unquoted = (name: string) => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name)
