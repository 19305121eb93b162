// Plans as `explain (format json)` returns them, and the facts of the catalog that they are read with.
import type { SqlQuery } from '../../../../job/pending.ts'
import type { TableName } from '../../../../store/diagnosis.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import type { Statements } from '../statements-by-schema.ts'

/** A node of a plan, as `explain (format json)` tells it; counts are there when it was measured. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Parent Relationship'?: string
  readonly Alias?: string
  readonly Schema?: string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly Output?: readonly string[]
  readonly Filter?: string
  readonly 'Index Cond'?: string
  readonly 'Recheck Cond'?: string
  readonly 'Hash Cond'?: string
  readonly 'Merge Cond'?: string
  readonly 'Join Filter'?: string
  readonly 'Plan Rows': number
  readonly 'Total Cost': number
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly Plans?: readonly PlanNode[]
}

/** How a statement was or would be executed. */
export interface Explained {
  readonly plan: PlanNode
  /** How long it took; null: it was only planned. */
  readonly ms: number | null
}

export interface TableFacts extends TableName {
  /** The table that an index has to be made on: itself, or what it is a partition of. */
  readonly root: TableName
  /** The root has partitions: an index on it cannot be made concurrently. */
  readonly partitioned: boolean
  /** False: a foreign table, whose indexes are made elsewhere. */
  readonly indexable: boolean
  /** At a guess. */
  readonly rows: number
  /** The planner has statistics of it. */
  readonly analyzed: boolean
  /** Types by column. */
  readonly columns: Readonly<Record<string, string>>
  readonly indexes: readonly IndexFacts[]
}

export interface IndexFacts {
  readonly name: string
  /** Columns and expressions in their order. */
  readonly columns: readonly string[]
  /** Its condition, where it is partial. */
  readonly where: string | null
  /** False: it was never finished, and is not used. */
  readonly valid: boolean
}

/** What is asked of the server about plans and tables. Every statement with the user's SQL in it has a time limit there. */
export interface Planner {
  /** `analyze` executes it; the server gives up after `timeoutMs`. */
  explain(query: SqlQuery, options: { readonly analyze: boolean; readonly timeoutMs: number }): Promise<Explained>
  /** How many rows of a table have a condition, as the planner guesses. Null: all of them. */
  rowsWhere(table: TableName, condition: string | null): Promise<number>
  /** Facts of tables, those that are there. */
  tables(names: readonly TableName[]): Promise<TableFacts[]>
}

const timeoutMs = 10_000

export function plannerOf(db: SqlDatabase, texts: () => Statements): Planner {
  const explained = async (query: SqlQuery, options: string, limitMs: number): Promise<Explained> => {
    const { rows } = await db.queryWithin(limitMs, `explain (${options}, format json) ${query.text}`, query.values)
    return explainedOf(rows[0])
  }
  return {
    // Without the time of each node: reading the clock for every row would cost more than the rows.
    explain: (query, { analyze, timeoutMs: limitMs }) =>
      explained(query, analyze ? 'analyze, verbose, buffers, timing off' : 'verbose', limitMs),
    async rowsWhere({ schema, name }, condition) {
      const text = `select 1 from ${quoted(schema)}.${quoted(name)}${condition === null ? '' : ` where ${condition}`}`
      return (await explained({ text, values: [] }, 'verbose', timeoutMs)).plan['Plan Rows']
    },
    async tables(names) {
      const { rows } = await db.queryWithin(timeoutMs, texts().diagnose.tables, [JSON.stringify(names)])
      return rows.map(tableOf)
    },
  }
}

/** Clients hand a plan out as JSON, or as its text. */
function explainedOf(row: Row | undefined): Explained {
  const cell = row && Object.values(row)[0]
  const [answer] = (typeof cell === 'string' ? JSON.parse(cell) : cell) as [
    { Plan: PlanNode; 'Execution Time'?: number },
  ]
  return { plan: answer.Plan, ms: answer['Execution Time'] ?? null }
}

function tableOf(row: Row): TableFacts {
  return {
    schema: row.schema as string,
    name: row.name as string,
    root: { schema: row.root_schema as string, name: row.root_name as string },
    partitioned: row.partitioned === true,
    indexable: row.indexable === true,
    rows: Number(row.rows),
    analyzed: row.analyzed === true,
    columns: JSON.parse((row.columns as string | null) ?? '{}') as Record<string, string>,
    indexes: JSON.parse((row.indexes as string | null) ?? '[]') as IndexFacts[],
  }
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
