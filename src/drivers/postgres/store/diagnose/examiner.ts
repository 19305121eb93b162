// What `doctor` asks, in SQL. Every statement with the user's SQL in it has a time limit in the server.
import { RegrowError } from '../../../../base/errors.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import type { Examiner, Explained, IndexFacts, PlanNode, StoreFacts, TableFacts } from '../../../../store/examiner.ts'
import type { Row, SqlDatabase } from '../../../../store/sql-client.ts'
import { sqlState } from '../errors.ts'
import { schemaVersion } from '../migrations/migrate.ts'
import { newestSchema, oldestSchema, type Statements } from '../statements-by-schema.ts'

const timeoutMs = 10_000

export function sqlExaminer(db: SqlDatabase, texts: () => Statements): Examiner {
  const explained = async (query: SqlQuery, options: string, limitMs: number): Promise<Explained> => {
    const { rows } = await db.queryWithin(limitMs, `explain (${options}, format json) ${query.text}`, query.values)
    return explainedOf(rows[0])
  }
  return {
    async facts(): Promise<StoreFacts> {
      const row = (await db.query(texts().diagnose.server)).rows[0] as Row
      return {
        user: row.user as string,
        serverVersion: Number(row.version),
        replica: row.replica === true,
        readOnly: row.read_only === true,
        schema: { found: await foundSchema(db), newest: newestSchema, oldest: oldestSchema },
        sessions: { open: Number(row.open), most: Number(row.most) },
        rightsMissing: JSON.parse((row.lacking as string | null) ?? '[]') as string[],
        connections: (await db.connections?.()) ?? null,
      }
    },
    async time() {
      const { rows } = await db.query('select (extract(epoch from regrow.clock()) * 1000)::float8 as ms')
      return Number(rows[0]?.ms)
    },
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
    async declarations(leaseMs) {
      const { rows } = await db.query(texts().diagnose.declarations, [leaseMs])
      return rows.map((row) => ({
        host: row.host as string,
        pid: Number(row.pid),
        startedAt: new Date(Number(row.started_ms)),
        jobs: JSON.parse(row.jobs as string) as Record<string, string>,
      }))
    },
  }
}

async function foundSchema(db: SqlDatabase): Promise<StoreFacts['schema']['found']> {
  try {
    return await schemaVersion(db)
  } catch (error) {
    if (sqlState(error) === '42501') return 'hidden'
    if (error instanceof RegrowError && error.code === 'schema_unknown') return 'unknown'
    throw error
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
