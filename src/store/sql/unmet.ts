// Why the pending query does not return a key. Postgres itself says which conditions its plan filters by, for a plan that
// may use no index: a partial index would hide its own condition. Each condition is then evaluated for the one row. Texts
// of identifiers and conditions are Postgres' own; the key is a parameter.
import type { Job } from '../../job/job.ts'
import type { SqlQuery, SqlValue } from '../../job/pending.ts'
import { type Row, type SqlDatabase, type SqlExecutor, sqlState } from '../executor.ts'
import type { Unmet } from '../unmet.ts'
import { columnsIn, conditionsOf, needsThePlan, shown } from './conditions.ts'
import type { QueryShape } from './describe.ts'

/** How a column is compared with a key that comes as text. */
export type KeyTypes = Readonly<Record<string, string>>

interface Plan {
  readonly 'Node Type': string
  readonly Schema?: string
  readonly 'Relation Name'?: string
  readonly Alias?: string
  readonly Filter?: string
  readonly 'One-Time Filter'?: string
  readonly Output?: readonly string[]
  readonly Plans?: readonly (Plan & { readonly 'Parent Relationship'?: string })[]
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
    const filtered = await db.transaction((tx) => filteredScan(tx, query, shape))
    if (typeof filtered === 'string') return untold(filtered)
    return await db.transaction((tx) => evaluated(tx, filtered, job, job.key.split(key), types))
  } catch (error) {
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

async function filteredScan(tx: SqlExecutor, query: SqlQuery, shape: QueryShape): Promise<Scan | string> {
  await tx.query(setting(settings))
  const keys = shape.keys.map((column) => `q.${column}`).join(', ')
  const { rows } = await tx.query(
    `explain (verbose, format json) select ${keys} from (\n${query.text}\n) q`,
    query.values,
  )
  const top = planOf(rows[0])
  let node = top
  while (node && transparent.includes(node['Node Type']) && node.Filter === undefined) node = node.Plans?.[0]
  if (!top || !node) return 'Postgres told no plan'
  if (node['One-Time Filter'] !== undefined) return 'its conditions contradict each other, or the table’s constraints'
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

async function evaluated(
  tx: SqlExecutor,
  scan: Scan,
  job: Job,
  parts: readonly string[],
  types: KeyTypes,
): Promise<Unmet> {
  const { table, from, alias, conditions, keys } = scan
  const plain = conditions.filter((condition) => !needsThePlan(condition))
  const columns = [...new Set(plain.flatMap((condition) => columnsIn(condition, alias)))]
  const cells = [
    ...plain.map((condition, i) => `(${condition}) is true as c${i}`),
    ...columns.map((column, i) => `left(${quoted(alias)}.${column}::text, ${valueMax}) as v${i}`),
  ]
  const match = keys.map((column, i) => `${column} = $${i + 1}::text::${types[job.key.columns[i]?.type ?? 'text']}`)
  await tx.query(setting(harmless))
  const text = `select ${['true as there', ...cells].join(', ')} from ${from} as ${quoted(alias)} where ${match.join(' and ')} limit 1`
  const { rows } = await tx.query(text, parts as SqlValue[])
  const row = rows[0]
  if (!row) return { kind: 'no row', table }
  const value = new Map(columns.map((column, i) => [column, row[`v${i}`] as string | null]))
  const failing = plain.filter((_, i) => row[`c${i}`] !== true)
  const hidden = conditions.length - plain.length
  if (failing.length === 0 && hidden > 0) return untold('the condition that it fails holds a subquery')
  return {
    kind: 'conditions',
    table,
    conditions: failing.map((condition) => ({
      condition: shown(condition, alias),
      found: Object.fromEntries(
        columnsIn(condition, alias).map((column) => [unquoted(column), value.get(column) ?? null]),
      ),
    })),
  }
}

/** For this transaction only. */
const setting = (values: Readonly<Record<string, string>>) =>
  `select ${Object.entries(values)
    .map(([name, value]) => `set_config('${name}', '${value}', true)::text`)
    .join(', ')}`

function planOf(row: Row | undefined): Plan | undefined {
  const answer = row?.['QUERY PLAN']
  return ((typeof answer === 'string' ? JSON.parse(answer) : answer) as [{ Plan: Plan }] | undefined)?.[0]?.Plan
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
const unquoted = (name: string) => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name)
