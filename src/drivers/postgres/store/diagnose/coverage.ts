// The coverage port in SQL: rows of the user's table held against the users' pending queries, in one snapshot each. Names
// come from the catalog and are quoted, values are parameters; every statement ends by itself, and none writes.
import type { Job } from '../../../../job/job.ts'
import type { SqlQuery, SqlValue } from '../../../../job/pending.ts'
import type { Coverage, StateColumn, StateReader, StateRows, TrialRow } from '../../../../store/coverage.ts'
import type { SqlDatabase } from '../../../sql/client.ts'
import { sqlState } from '../errors.ts'
import { describeQuery } from '../source/query-shape.ts'
import { oneStatement } from '../source/refusal.ts'
import type { Statements } from '../statements-by-schema.ts'
import {
  everyNode,
  isEmpty,
  overAny,
  overNothing,
  overTrial,
  overTrials,
  type PlanNode,
  planOf,
  stateParameter,
  tableName,
} from './hypothetical-rows.ts'
import { quoted, shifted, tokens } from './sql-tokens.ts'
import { stateValues } from './state-values.ts'

/** A person or a CI waits; the database must not. */
const timeoutMs = 10_000

export function sqlCoverage(db: SqlDatabase, texts: () => Statements): Coverage {
  const run = async (query: SqlQuery) => (await db.queryWithin(timeoutMs, query.text, query.values)).rows
  const planned = async (query: SqlQuery, how = 'verbose') =>
    planOf(await run({ ...query, text: `explain (${how}, format json) ${query.text}` }))
  /** A query that cannot be run over such rows proves nothing. */
  const provenEmpty = (query: SqlQuery, how?: string) =>
    planned(query, how).then(isEmpty, (error: unknown) => isRefused(error, false))
  const wouldReturn = async (
    column: StateColumn,
    reader: StateReader,
    value: string | null,
    rows: readonly TrialRow[],
  ): Promise<boolean> => {
    if (!reader.driven) return false
    const query = queryOf(reader.job)
    const plan = await planned(overAny(column, query, value)).catch((error: unknown) => isRefused(error, null))
    // It reads the table in a way that no WITH can stand in for, such as a view: then nothing was tried.
    if (plan === null || everyNode(plan).some(readsTable(column))) return false
    const found = await run(overTrials(column, query, value, rows)).catch((error: unknown) => isRefused(error, []))
    return found.length > 0
  }
  const wouldShare = async (
    column: StateColumn,
    readers: readonly StateReader[],
    value: string | null,
    rows: readonly TrialRow[],
  ): Promise<boolean> => {
    for (let nth = 0; ; nth++) {
      const tries = readers.map(({ job }) => overTrial(column, queryOf(job), value, rows, nth))
      if (tries.some((each) => each === undefined)) return false
      const found = await Promise.all(
        tries.map((each) => run(each as SqlQuery).catch((error: unknown) => isRefused(error, []))),
      )
      if (found.every(({ length }) => length > 0)) return true
    }
  }

  return {
    async column(table, column) {
      const [row] = await run({ text: texts().diagnose.coveredColumn, values: [table, column] })
      if (!row) return 'no_table'
      const facts = JSON.parse(row.facts as string) as { [name in keyof StateColumn]: StateColumn[name] | null }
      if (facts.column === null) return 'no_column'
      return { ...(facts as StateColumn), key: facts.key ?? [], checks: facts.checks ?? [] }
    },
    values: (column) => stateValues(db, column, timeoutMs),
    async reader(column, job, key) {
      const query = queryOf(job)
      const { keys: keyNames } = await describeQuery(db, job, query)
      const plan = await planned({
        ...query,
        text: `select ${keyNames.map((name) => `q.${name}`).join(', ')} from (\n${query.text}\n) q`,
      })
      const reads = everyNode(plan).some(readsTable(column))
      const driven = reads && (await provenEmpty(overNothing(column, query)))
      const found = key ?? (reads ? keyColumns(column, plan, keyNames) : null)
      return {
        job,
        reads,
        driven,
        others: othersIn(plan, column),
        keyNames,
        key: found?.length === keyNames.length ? found : null,
        clock: readsClock(query),
      }
    },
    async mayClaim(column, reader, value) {
      // What comes from elsewhere may have any key.
      if (!reader.driven) return 'maybe'
      const any = overAny(column, queryOf(reader.job), value)
      const plan = await planned(any).catch((error: unknown) => isRefused(error, null))
      if (plan === null) return 'maybe'
      if (isEmpty(plan)) return 'never'
      // A condition on the value alone that the planner may not fold, such as state::text = 'x': it is asked, once.
      const asks = everyNode(plan).some((node) => node['One-Time Filter'] !== undefined)
      return asks && (await provenEmpty(any, 'analyze, timing off, verbose')) ? 'never' : 'maybe'
    },
    async claims(column, reader, value) {
      const statement = new Statement()
      const held = statement.state(column, value)
      const text = `select 1 as found from ${tableName(column)} t where ${held} and ${statement.returns(reader)} limit 1`
      return (await run({ text, values: statement.values })).length > 0
    },
    wouldClaim: (column, readers, value, rows) =>
      readers.length === 1
        ? wouldReturn(column, readers[0] as StateReader, value, rows)
        : wouldShare(column, readers, value, rows),
    async unclaimed(column, readers, value, key, limit) {
      const statement = new Statement()
      const held = statement.state(column, value)
      const missed = readers.map((reader) => ` and not ${statement.returns(reader)}`).join('')
      return rowsOf(await run(statement.rows(column, `${held}${missed}`, key, limit)), limit)
    },
    async shared(column, readers, key, limit) {
      const statement = new Statement()
      const both = readers.map((reader) => statement.returns(reader)).join(' and ')
      return rowsOf(await run(statement.rows(column, both, key, limit)), limit)
    },
  }
}

/** One statement over the table, as `t`, that holds several pending queries with the values of each. */
class Statement {
  readonly values: SqlValue[] = []

  state(column: StateColumn, value: string | null): string {
    const name = `t.${quoted(column.column)}`
    if (value === null) return `${name} is null`
    return `${name} = $${this.values.push(stateParameter(column, value))}::${column.type}`
  }

  /** True of rows that the job's query returns, be it for later: a `run_at` in the future is found. */
  returns({ job, key, keyNames }: StateReader): string {
    const query = queryOf(job)
    const text = shifted(query.text, this.values.length)
    this.values.push(...query.values)
    const same = keyNames.map((name, i) => `q.${name} = t.${quoted(key?.[i] ?? '')}`)
    return `exists (select 1 from (\n${text}\n) q where ${same.join(' and ')})`
  }

  rows(column: StateColumn, where: string, key: readonly string[], limit: number): SqlQuery {
    const parts = key.map((name) => `t.${quoted(name)}::text`)
    const text = `select json_build_array(${parts.join(', ')})::text as key from ${tableName(column)} t where ${where}
limit ${limit + 1}`
    return { text, values: this.values }
  }
}

function rowsOf(rows: readonly Record<string, unknown>[], limit: number): StateRows {
  const keys = rows.slice(0, limit).map(({ key }) => JSON.parse(key as string) as string[])
  return { keys, more: rows.length > limit }
}

const queryOf = (job: Job): SqlQuery =>
  job.query ? oneStatement(job, job.query()) : { text: 'select null::text where false', values: [] }

/** The fallback, where the query itself was refused; an error of the server's own goes on. */
function isRefused<T>(error: unknown, fallback: T): T {
  if (/^(0A|22|23|42)/.test(sqlState(error) ?? '')) return fallback
  throw error
}

/** True of nodes that read the table. */
const readsTable =
  ({ family }: StateColumn) =>
  ({ Schema, 'Relation Name': relation }: PlanNode) =>
    family.some(([schema, name]) => schema === Schema && name === relation)

function othersIn(plan: PlanNode, column: StateColumn): readonly string[] {
  const tables = everyNode(plan)
    .filter((node) => !readsTable(column)(node) && node.Schema !== 'regrow')
    .flatMap(({ Schema, 'Relation Name': name }) => (Schema && name ? [`${Schema}.${name}`] : []))
  return [...new Set(tables)]
}

/** The table's columns that a query returns as its key: by the plan, else by name, else the primary key. */
function keyColumns(column: StateColumn, plan: PlanNode, keyNames: readonly string[]): readonly string[] | null {
  const nodes = everyNode(plan)
  const known = new Set(column.columns.map(({ name }) => name))
  const origins = (plan.Output ?? []).map((output) => {
    const [alias, name] = output.split('.').slice(-2).map(plain)
    const node = nodes.find(({ Alias }) => Alias !== undefined && Alias === alias)
    return node?.['Relation Name'] === undefined ? undefined : readsTable(column)(node) ? name : null
  })
  if (origins.includes(null)) return null
  if (origins.length > 0 && origins.every((name) => name !== undefined && name !== null && known.has(name)))
    return origins as string[]
  const names = keyNames.map(plain)
  if (names.every((name) => known.has(name))) return names
  return column.key.length === names.length ? column.key : null
}

const plain = (name: string) => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name)

const clockWords =
  /^(now|current_timestamp|current_date|current_time|localtimestamp|localtime|clock|clock_timestamp|statement_timestamp|transaction_timestamp)$/i

/** Its text asks for the time, or a value looks like one: who builds the query each time may pass the present. */
function readsClock({ text, values }: SqlQuery): boolean {
  const instant = /^\d{4}-\d\d-\d\d/
  return (
    tokens(text).some((token) => token.kind === 'name' && clockWords.test(token.text)) ||
    values.some((value) => typeof value === 'string' && instant.test(value))
  )
}
